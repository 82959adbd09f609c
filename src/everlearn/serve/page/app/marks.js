/** Which parts of a text are marked: highlighted terms, and the differences of two texts. Pure. */

/**
 * Cut a text where marks begin and end. Offsets count characters as Python does, not UTF-16 units.
 * @param {string} text @param {[number, number, number][]} highlights start, end, weight
 * @returns {{text: string, weight: number}[]}
 */
export function cut(text, highlights) {
  const letters = Array.from(text);
  const parts = [];
  let at = 0;
  for (const [start, end, weight] of [...(highlights ?? [])].sort((a, b) => a[0] - b[0])) {
    if (start < at || end <= start || start >= letters.length) continue;
    if (start > at) parts.push({ text: letters.slice(at, start).join(""), weight: 0 });
    parts.push({ text: letters.slice(start, end).join(""), weight });
    at = Math.min(end, letters.length);
  }
  if (at < letters.length) parts.push({ text: letters.slice(at).join(""), weight: 0 });
  return parts;
}

const words = (/** @type {string} */ text) => text.match(/\s+|[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? [];

/**
 * The words of each text that are not in the other, in order (longest common subsequence).
 * @param {string} left @param {string} right
 * @returns {[{text: string, weight: number}[], {text: string, weight: number}[]]}
 */
export function differences(left, right) {
  const a = words(left);
  const b = words(right);
  if (a.length * b.length > 250000) return [[{ text: left, weight: 1 }], [{ text: right, weight: 1 }]];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  const same = (/** @type {number} */ i, /** @type {number} */ j) => a[i].toLowerCase() === b[j].toLowerCase();
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] = same(i, j)
        ? common[(i + 1) * width + j + 1] + 1
        : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
  /** @type {{text: string, weight: number}[]} */ const ours = [];
  /** @type {{text: string, weight: number}[]} */ const theirs = [];
  const push = (/** @type {any[]} */ list, /** @type {string} */ text, /** @type {number} */ weight) => {
    if (list.at(-1)?.weight === weight) list.at(-1).text += text;
    else list.push({ text, weight });
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && same(i, j)) push(ours, a[i++], 0), push(theirs, b[j++], 0);
    else if (j >= b.length || (i < a.length && common[(i + 1) * width + j] >= common[i * width + j + 1])) push(ours, a[i++], 1);
    else push(theirs, b[j++], 1);
  }
  return [ours, theirs];
}
