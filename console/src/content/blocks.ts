/** Characters from which a text is split. */
const MIN_BLOCK = 1_500;

/** Characters of a block that may be read again with each piece of a text that grows. */
const MAX_GROWING = 4_000;

/** Start of a line that may belong to the block before it: indented, of a list, a table or a quote. */
const continues = /^(?:\s|[-*+>|]|\d{1,9}[.)]\s)/;

/** Start of an item of a list that is in nothing else. */
const item = /^(?:[-*+]|\d{1,9}[.)])\s/;

/** Items that begin a list within a paragraph. Other numbers are text there. */
const firstItem = /^(?:[-*+]|1[.)])\s/;

/** Line that begins a fence. The text after backticks contains none. */
const fenceMark = /^ {0,3}(`{3,}(?=[^`\n]*(?:\n|$))|~{3,})/;

/**
 * Splits Markdown where a block ends for sure, so that a text that grows is read again from its last block on only. Long
 * lists are split between their items, and very long paragraphs anywhere. A fence that is not indented is a block of its
 * own. Joined, the blocks are the text.
 */
export function blocksOf(text: string): readonly string[] {
  const blocks: string[] = [];
  let start = 0;
  let fence: string | undefined;
  let isBlank = true;
  let isAfterFence = false;
  let isInList = false;
  const split = (at: number): void => {
    if (at > start) blocks.push(text.slice(start, at));
    start = at;
  };
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const next = end < 0 ? text.length : end + 1;
    const line = text.slice(at, Math.min(next, at + 400));
    const mark = fenceMark.exec(line)?.[1];
    if (fence === undefined) {
      const isItem = item.test(line) && (isInList || isBlank || firstItem.test(line));
      if (isItem) isInList = true;
      else if (isBlank && /^\S/.test(line)) isInList = false;
      const isBound = (isBlank && !continues.test(line)) || isItem;
      if (isAfterFence || (mark !== undefined && isBlank && line.startsWith(mark))) split(at);
      else if (isBound && at - start >= MIN_BLOCK) split(at);
      // Reading Markdown takes time by the square of its length.
      else if (at - start >= MAX_GROWING && !line.startsWith("|")) split(at);
      if (mark === undefined) for (const cut of cutsIn(text, at, next)) split(cut);
    }
    isAfterFence = false;
    if (mark !== undefined) {
      if (fence === undefined) fence = mark;
      else if (mark.startsWith(fence) && line.trim() === mark) {
        fence = undefined;
        isAfterFence = fenceIn(text.slice(start, start + 400)) !== undefined;
      }
    }
    isBlank = line.trim() === "";
    at = next;
  }
  split(text.length);
  return blocks;
}

/** Yields where a long line is split, after a space if one is near. */
function* cutsIn(text: string, from: number, end: number): Generator<number, void, undefined> {
  for (let at = from; at + MAX_GROWING < end; ) {
    const space = text.indexOf(" ", at + MAX_GROWING) + 1;
    at = space > 0 && space < at + MAX_GROWING + 100 ? space : at + MAX_GROWING;
    if (at < end) yield at;
  }
}

/** Returns the opening line of a block that is one fence, without its marks; undefined for other blocks. */
export function fenceIn(block: string): string | undefined {
  return /^(?:`{3,}(?=[^`\n]*(?:\n|$))|~{3,})([^\n]*)/.exec(block)?.[1];
}

/** Returns the code in a block that is one fence. */
export function codeIn(block: string): string {
  const begin = block.indexOf("\n") + 1;
  if (begin === 0) return "";
  const mark = fenceMark.exec(block)?.[1] ?? "";
  const end = block.trimEnd().lastIndexOf("\n");
  const isClosed =
    end >= begin - 1 &&
    block
      .slice(end + 1)
      .trim()
      .startsWith(mark);
  return block.slice(begin, isClosed ? Math.max(begin, end) : undefined);
}

/**
 * Splits the last block of a growing text into a part to read as Markdown and a rest to show as plain text until it
 * stops growing, because a table cannot be split.
 */
export function growingParts(block: string): readonly [string, string] {
  if (block.length <= MAX_GROWING || fenceIn(block) !== undefined) return [block, ""];
  const line = block.lastIndexOf("\n", MAX_GROWING);
  const at = line < MAX_GROWING / 2 ? MAX_GROWING : line + 1;
  return [block.slice(0, at), block.slice(at)];
}
