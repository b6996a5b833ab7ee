import { StringDecoder } from "node:string_decoder";
import { orAborted } from "../../../core/async.js";
import type { Context } from "../context.js";
import { usage } from "../errors.js";
import { MAX_INPUT } from "./keys.js";

/** Yields the lines of stdin that are not empty, as they come. @throws Failure for one that is too long */
export async function* lines({ io, signal }: Context): AsyncGenerator<string, void, undefined> {
  const chunks = io.stdin[Symbol.asyncIterator]();
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for (;;) {
    const { done, value } = await orAborted(chunks.next(), signal);
    rest += done === true ? decoder.end() : typeof value === "string" ? value : decoder.write(value);
    const all = rest.split(/\r?\n/);
    if (done !== true) rest = all.pop() ?? "";
    for (const line of [...all, rest]) {
      if (line.length > MAX_INPUT) throw usage(`chat: a line of stdin is longer than ${MAX_INPUT} characters`);
    }
    for (const line of all) if (line.trim() !== "") yield line;
    if (done === true) return;
  }
}
