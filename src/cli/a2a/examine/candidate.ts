import type { AgentInterface } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { FoundCard } from "../../../client/discovery/discovery.js";
import type { Candidate } from "../../../client/discovery/interfaces.js";
import { interfacesOf } from "../agent.js";
import type { Context } from "../context.js";

/** Returns an interface as it is called in its own version; undefined if that version or binding is not spoken here. */
export function candidateOf({ settings }: Context, found: FoundCard, declared: AgentInterface): Candidate | undefined {
  for (const a2aVersion of [undefined, declared.protocolVersion]) {
    try {
      const usable = interfacesOf({ settings: { ...settings, a2aVersion, transport: [] } }, found);
      const chosen = usable.find((each) => each.declared === declared);
      if (chosen !== undefined) return chosen;
    } catch {
      // No interface of this version can be called.
    }
  }
  return undefined;
}
