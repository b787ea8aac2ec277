// SPDX-License-Identifier: Apache-2.0
// The page: reads its data or finds its switch, shows the view of the address, keeps the time.
import { App } from './app.js';
import { h, replace } from './dom.js';
import { Lab, Live } from './model.js';
import { startTheme } from './theme.js';
import { openView, parseFile } from './views/open.js';
import { Plots } from './views/plots.js';
import { Sweep } from './views/sweep.js';

const root = document.getElementById('app');
let app = null;

function start(model) {
  app?.destroy();
  app = new App(root, model, ask);
}

function modelOf(data) {
  if (data.kind === 'weir-sweep') return new Sweep(data);
  return data.kind === 'weir-plots' ? new Plots(data) : new Lab(data);
}

/** Shows what is wrong, and asks for a file. */
function ask(why) {
  app?.destroy();
  app = null;
  replace(
    root,
    openView(why, (data) => start(modelOf(data)))
  );
}

startTheme();
const text = document.getElementById('weir-data')?.textContent.trim() ?? '';
try {
  if (text.startsWith('{')) start(modelOf(parseFile('the page', text)));
  else if (text.startsWith('[') || text.startsWith('"'))
    ask('The data of this page are no object.');
  else if (location.protocol.startsWith('http')) start(new Live());
  else ask('This page has no data, and no switch has sent it.');
} catch (e) {
  ask(`The data of this page are broken: ${e.message}`);
}
addEventListener('error', (e) => {
  if (!document.querySelector('.banner.alarm'))
    root.prepend(
      h('p', { class: 'banner alarm', role: 'alert' }, `This page has failed: ${e.message}`)
    );
});
