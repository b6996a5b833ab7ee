import type { Line } from "../../../examine/line.js";
import type { Output } from "../output.js";

/** Returns a line without credentials, which agents may repeat in their errors. */
export function redacted(line: Line, { redactor }: Output): Line {
  return line.detail === null ? line : { ...line, detail: redactor.text(line.detail) };
}
