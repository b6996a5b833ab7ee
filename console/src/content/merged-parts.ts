import type { Part } from "../../../gen/lf/a2a/v1/a2a_pb.js";

/** Parts as they are shown: texts that were streamed in pieces are one. */
export type ShownPart = { readonly text: string; readonly filename: string; readonly mediaType: string } | Part;

interface Merged {
  /** Parts of the original list that are in `shown`. */
  count: number;
  shown: ShownPart[];
}

const merged = new WeakMap<readonly Part[], Merged>();

/**
 * Returns the parts of an artifact with the pieces of each text joined. The cost of a further piece depends on its own
 * size, and parts that have not changed stay the same objects.
 */
export function mergedParts(parts: readonly Part[]): readonly ShownPart[] {
  const known = merged.get(parts);
  // A list that became shorter is another one in the same place.
  const kept = known !== undefined && known.count <= parts.length ? known : { count: 0, shown: [] };
  if (kept.count === parts.length && known === kept) return kept.shown;
  const shown = [...kept.shown];
  for (let at = kept.count; at < parts.length; at++) {
    const part = parts[at];
    if (part !== undefined) add(shown, part);
  }
  merged.set(parts, { count: parts.length, shown });
  return shown;
}

function add(shown: ShownPart[], part: Part): void {
  const { content, filename, mediaType } = part;
  if (content.case !== "text") {
    shown.push(part);
    return;
  }
  const last = shown.at(-1);
  const isMore =
    last !== undefined &&
    "text" in last &&
    !("content" in last) &&
    (filename === "" || filename === last.filename) &&
    (mediaType === "" || mediaType === last.mediaType);
  if (isMore) shown[shown.length - 1] = { ...last, text: last.text + content.value };
  else shown.push({ text: content.value, filename, mediaType });
}
