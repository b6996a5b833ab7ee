import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AgentExtensionSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { IDEMPOTENCY_EXTENSION } from "../wire/service-params.js";

/** The extension as the card declares it: clients learn from it that a send under a key may be repeated. */
export const idempotencyExtension: MessageInitShape<typeof AgentExtensionSchema> = {
  uri: IDEMPOTENCY_EXTENSION,
  description: "A send under an Idempotency-Key may be repeated: the same request under the same key makes one task.",
  required: false,
};
