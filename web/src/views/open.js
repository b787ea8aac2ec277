// SPDX-License-Identifier: Apache-2.0
// A page without data: what is wrong, and a way to open a file.
import { h, replace } from '../dom.js';
import { Broken } from '../timeline.js';

const MOST_BYTES = 400e6;

/** The data in the text of a report.html, report.json, timeline.json or sweep.json. */
export function parseFile(name, text) {
  let json = text;
  if (/^\s*</.test(text)) {
    const start = text.indexOf('id="weir-data">');
    if (start < 0) throw new Broken(`${name} is a page without data of weir-lab`);
    const from = start + 'id="weir-data">'.length;
    json = text.slice(from, text.indexOf('</script>', from));
  }
  let data;
  try {
    data = JSON.parse(json);
  } catch (e) {
    throw new Broken(`${name} is no JSON: ${e.message}`);
  }
  if (typeof data !== 'object' || data === null) throw new Broken(`${name} holds no object`);
  if (['weir-lab', 'weir-sweep', 'weir-plots'].includes(data.kind)) return data;
  if (Array.isArray(data.switches) && data.scenario !== undefined)
    return { kind: 'weir-lab', title: String(data.scenario), report: data };
  if (Array.isArray(data.columns) && Array.isArray(data.frames))
    return {
      kind: 'weir-lab',
      title: name,
      report: {
        switches: [...new Set(data.columns.map((c) => c?.[0]).filter(Boolean))].map((n) => ({
          name: n,
        })),
      },
      timeline: data,
    };
  if (data.report && data.timeline) return { kind: 'weir-lab', ...data };
  throw new Broken(`${name} is neither a report nor a timeline of weir-lab`);
}

export function openView(why, take) {
  const wrong = h('p', { class: 'why', role: 'alert' }, why ?? '');
  const read = async (file) => {
    if (!file) return;
    try {
      if (file.size > MOST_BYTES)
        throw new Broken(
          `${file.name} has ${Math.round(file.size / 1e6)} MB; ${MOST_BYTES / 1e6} MB are the most`
        );
      replace(wrong, `reading ${file.name} …`);
      take(parseFile(file.name, await file.text()));
    } catch (e) {
      replace(wrong, e.message);
    }
  };
  const input = h('input', {
    type: 'file',
    accept: '.html,.json',
    id: 'file',
    onchange: () => read(input.files[0]),
  });
  const drop = h(
    'div',
    {
      class: 'drop',
      ondragover: (e) => {
        e.preventDefault();
        drop.classList.add('over');
      },
      ondragleave: () => drop.classList.remove('over'),
      ondrop: (e) => {
        e.preventDefault();
        drop.classList.remove('over');
        read(e.dataTransfer.files[0]);
      },
    },
    h('p', {}, h('label', { for: 'file' }, 'Open a report: '), input),
    h(
      'p',
      { class: 'note' },
      'or drop it here: report.html, report.json or timeline.json of weir-lab'
    )
  );
  return h(
    'main',
    { class: 'open' },
    h('h1', {}, h('span', { class: 'brand' }, 'Weir')),
    wrong,
    drop,
    h(
      'p',
      { class: 'note' },
      'The file stays on this machine. A live switch shows this page with weir --web.'
    )
  );
}
