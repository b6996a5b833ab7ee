import { ConfigurationError } from "../card/faults.js";
import type { RemoteCalls } from "../delegation/calls.js";
import type { RemoteAgentRegistry } from "../delegation/options.js";
import { remoteAgents as faultsOf } from "./option-kinds.js";

/** Returns the agents that a server's agents may call, with the checks of the option. */
export function remoteAgentRegistry({ agents }: Pick<RemoteCalls, "agents">): RemoteAgentRegistry {
  return {
    get names() {
      return agents.names;
    },
    add: (name, agent) => {
      const isName = typeof name === "string" && name !== "";
      const faults = isName
        ? faultsOf("remoteAgents", { [name]: agent })
        : ["the name of the agent is empty or not a text"];
      if (faults.length > 0) throw new ConfigurationError("Invalid options", faults);
      agents.add(name, agent);
    },
    remove: (name) => agents.remove(name),
  };
}
