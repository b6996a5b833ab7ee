import { type DescMessage, fromBinary, type Message } from "@bufbuild/protobuf";
import { utf8Of } from "../../core/bytes.js";
import { A2AError } from "../../core/error.js";
import { exceedsBinary, excessOfJson } from "../../wire/count-values.js";
import { badAnswer } from "../answer-errors.js";

/** Texts of fewer characters are not counted: they cannot hold enough values to be a burden. */
const HARMLESS = 64 * 1024;

/**
 * Judges an answer in JSON before it is parsed: an empty value becomes more than a hundred bytes in memory for each of its own.
 * @throws A2AError with reason INVALID_AGENT_RESPONSE
 */
export function checkJson(text: string, max: number): void {
  const excess = text.length < HARMLESS ? undefined : excessOfJson(utf8Of(text), max);
  if (excess !== undefined) throw excess === "values" ? tooMany(max) : badAnswer("The answer nests too deep.");
}

/** The message of an answer. @throws A2AError with reason INVALID_AGENT_RESPONSE for more values, and for other bytes */
export function readBinary(desc: DescMessage, bytes: Uint8Array, max: number): Message {
  let isTooMuch: boolean;
  try {
    isTooMuch = exceedsBinary(desc, bytes, max);
    if (!isTooMuch) return fromBinary(desc, bytes);
  } catch (cause) {
    throw new A2AError("INVALID_AGENT_RESPONSE", `The answer is no ${desc.typeName}.`, { cause });
  }
  throw tooMany(max);
}

function tooMany(max: number): A2AError {
  return badAnswer(`The answer has more than ${max} values (maxAnswerValues).`);
}
