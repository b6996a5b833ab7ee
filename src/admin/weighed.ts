import type { Message } from "@bufbuild/protobuf";
import { LARGE_BYTES, mark } from "../wire/marks.js";

/** Marks a large answer, so that it is written in pieces and counts as unread until then. */
export function weighed<M extends Message>(message: M, bytes: number): M {
  return bytes < LARGE_BYTES ? message : mark(message, { weight: { bytes, source: message } });
}
