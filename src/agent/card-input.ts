import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { SecuritySchemeInput } from "../auth/scheme-card.js";

/**
 * Fields of a card that an author sets; the server adds `supportedInterfaces` and its capabilities. `defaultInputModes`
 * and `defaultOutputModes` are `["text/plain"]` unless given. Security schemes are written as in the specification's
 * JSON, or as protobuf's objects have them. Specification 4.4.1.
 */
export type AgentCardInput = AgentCard | CardFields;

interface CardFields extends Omit<Exclude<MessageInitShape<typeof AgentCardSchema>, AgentCard>, "securitySchemes"> {
  /** Ways to authenticate, by a name that `securityRequirements` refer to. Specification 4.5.1. */
  readonly securitySchemes?: { readonly [name: string]: SecuritySchemeInput };
}
