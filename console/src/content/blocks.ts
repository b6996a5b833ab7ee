/** Characters from which a text is split. */
const MIN_BLOCK = 1_500;

/** Characters from which it is split at any line, because reading Markdown takes time by the square of its length. */
const MAX_BLOCK = 6_000;

/** Start of a line that may belong to the block before it: indented, of a list, a table or a quote. */
const continues = /^(?:\s|[-*+>|]|\d{1,9}[.)]\s)/;

/**
 * Splits Markdown where a block ends for sure, so that a text that grows is read again from its last block on only.
 * Joined, the blocks are the text.
 */
export function blocksOf(text: string): readonly string[] {
  const blocks: string[] = [];
  let start = 0;
  let fence: string | undefined;
  let isBlank = false;
  let at = 0;
  while (at < text.length) {
    const end = text.indexOf("\n", at);
    const next = Math.min(end < 0 ? text.length : end + 1, at + MAX_BLOCK);
    const line = text.slice(at, Math.min(next, at + 400));
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    const isEnd = isBlank && at - start >= MIN_BLOCK && !continues.test(line);
    const isTooLong = next - start > MAX_BLOCK && at > start && !line.startsWith("|");
    if (fence === undefined && (isEnd || isTooLong)) {
      blocks.push(text.slice(start, at));
      start = at;
    }
    if (mark !== undefined) {
      if (fence === undefined) fence = mark;
      else if (mark.startsWith(fence)) fence = undefined;
    }
    isBlank = line.trim() === "";
    at = next;
  }
  if (start < text.length) blocks.push(text.slice(start));
  return blocks;
}
