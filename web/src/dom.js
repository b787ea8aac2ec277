// SPDX-License-Identifier: Apache-2.0
// Elements. Every text of the data becomes a text node here, and no text becomes markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(el, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) el.addEventListener(name.slice(2), value);
    else if (name === 'style')
      for (const [k, v] of Object.entries(value)) el.style.setProperty(k, v);
    else if (name === 'value' || name === 'checked') el[name] = value;
    else el.setAttribute(name, value === true ? '' : String(value));
  }
  put(el, children);
  return el;
}

export function put(el, ...children) {
  for (const child of children.flat(Infinity))
    if (child !== undefined && child !== null && child !== false)
      el.append(child instanceof Node ? child : String(child));
  return el;
}

/** An HTML element: h('p', {class: 'note'}, 'text', element, [more]). */
export const h = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);

/** An SVG element. */
export const s = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

/** An element that scrolls sideways shows where there is more: a shade, under a table a word. */
export function scroller(el) {
  const look = () => {
    const more = el.scrollWidth - el.clientWidth;
    el.classList.toggle('more-right', more - el.scrollLeft > 2);
    el.classList.toggle('more-left', more > 2 && el.scrollLeft > 2);
    if (more > 2 || el.scrollHeight > el.clientHeight + 2) el.setAttribute('tabindex', '0');
    else el.removeAttribute('tabindex');
  };
  el.addEventListener('scroll', look, { passive: true });
  new ResizeObserver(look).observe(el);
  new MutationObserver(look).observe(el, { childList: true });
  return el;
}

export function replace(el, ...children) {
  el.textContent = '';
  return put(el, children);
}

/** Names in the order of their numbers: p2 before p10. */
export const natural = new Intl.Collator('en', { numeric: true }).compare;
