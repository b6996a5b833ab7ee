import type { JsonValue } from "@bufbuild/protobuf";
import { cover } from "../support/cover.js";
import { fetchBindings } from "../support/drivers.js";
import { type CaseOver, runTable } from "./run.js";
import { ruleTable, streamTable, taskTable } from "./tables.js";

/** The calls of a case, and the errors that it expects, each over its binding; its server over the binding; and the case. */
function traits({ one, binding }: CaseOver): readonly string[] {
  const seen: JsonValue[] = [["setup", one.setup ?? "main"]];
  for (const step of one.steps) {
    seen.push(["step", step.kind, "rpc" in step ? step.rpc : null]);
    if ("expect" in step && step.expect.error !== undefined) seen.push(["error", step.expect.error.reason]);
    if ("error" in step && step.error !== undefined) seen.push(["error", step.error.reason]);
  }
  return [JSON.stringify(["case", one.name]), ...seen.map((each) => JSON.stringify([binding.name, each]))];
}

runTable([...taskTable, ...streamTable, ...ruleTable], {
  on: fetchBindings,
  choose: (table) => cover(table, traits),
});
