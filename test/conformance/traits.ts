import type { JsonValue } from "@bufbuild/protobuf";
import type { CaseOver } from "./run.js";

/**
 * Returns the traits by which `npm test` chooses cases over bindings. It covers each case, and over each binding each
 * server, each call and each error.
 */
export function traits({ one, binding }: CaseOver): readonly string[] {
  const seen: JsonValue[] = [["setup", one.setup ?? "main"]];
  for (const step of one.steps) {
    seen.push(["step", step.kind, "rpc" in step ? step.rpc : null]);
    if ("expect" in step && step.expect.error !== undefined) seen.push(["error", step.expect.error.reason]);
    if ("error" in step && step.error !== undefined) seen.push(["error", step.error.reason]);
  }
  return [JSON.stringify(["case", one.name]), ...seen.map((each) => JSON.stringify([binding.name, each]))];
}
