import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AgentExtensionSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { DELEGATION_EXTENSION, IDEMPOTENCY_EXTENSION, RESUME_EXTENSION } from "../wire/service-params.js";

type Extension = MessageInitShape<typeof AgentExtensionSchema>;

/** Declares in a card that streams and reads can resume. */
export const resumeExtension: Extension = {
  uri: RESUME_EXTENSION,
  description: "Tasks and events carry a generation; streams resume after one, reads wait for one, sends expect one.",
  required: false,
};

/** Declares in a card that a send with an idempotency key may be repeated. */
export const idempotencyExtension: Extension = {
  uri: IDEMPOTENCY_EXTENSION,
  description: "A send under an Idempotency-Key may be repeated: the same request under the same key makes one task.",
  required: false,
};

/** Declared by the cards of a server with the option `remoteAgents`. */
export const delegationExtension: Extension = {
  uri: DELEGATION_EXTENSION,
  description: "Messages and artifacts that come from another agent's task name the agent and the task.",
  required: false,
};
