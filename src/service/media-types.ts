import type { AgentCard, Message } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../core/error.js";

const accepted = new WeakMap<AgentCard, readonly string[]>();

/** Media types that an agent accepts: the card's defaults and those of its skills (specification 4.4.1, 4.4.5). */
function inputModes(card: AgentCard): readonly string[] {
  let modes = accepted.get(card);
  if (modes === undefined) {
    modes = [...card.defaultInputModes, ...card.skills.flatMap((skill) => skill.inputModes)].map(essence);
    accepted.set(card, modes);
  }
  return modes;
}

/**
 * Refuses a message with a part whose media type the agent does not accept (specification 3.1.1). Parts without a
 * media type are passed to the agent.
 *
 * @throws A2AError CONTENT_TYPE_NOT_SUPPORTED
 */
export function checkMediaTypes(card: AgentCard, message: Message): void {
  for (const { mediaType } of message.parts) {
    if (mediaType === "" || inputModes(card).some((mode) => matches(mode, essence(mediaType)))) continue;
    throw new A2AError("CONTENT_TYPE_NOT_SUPPORTED", `The agent does not accept ${mediaType.slice(0, 128)}.`, {
      metadata: { supported: inputModes(card).join(", ") },
    });
  }
}

/** Type and subtype, without parameters. */
function essence(mediaType: string): string {
  return (mediaType.split(";")[0] ?? "").trim().toLowerCase();
}

function matches(mode: string, mediaType: string): boolean {
  if (mode === mediaType || mode === "*/*") return true;
  return mode.endsWith("/*") && mediaType.startsWith(mode.slice(0, -1));
}
