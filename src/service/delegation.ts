import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AgentExtensionSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { DELEGATION_EXTENSION } from "../wire/service-params.js";

/** The extension as the cards of a server with the option `remoteAgents` declare it. */
export const delegationExtension: MessageInitShape<typeof AgentExtensionSchema> = {
  uri: DELEGATION_EXTENSION,
  description: "Messages and artifacts that come from another agent's task name the agent and the task.",
  required: false,
};
