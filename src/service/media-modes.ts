import type { AgentCard, Message, SendMessageConfiguration } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../core/error.js";
import { essenceOf } from "../wire/media-type.js";

/** Media types that a card declares for itself and its skills (specification 4.4.1, 4.4.5). */
interface DeclaredModes {
  readonly input: readonly string[];
  readonly output: readonly string[];
}

const declared = new WeakMap<AgentCard, DeclaredModes>();

function modesOf(card: AgentCard): DeclaredModes {
  let modes = declared.get(card);
  if (modes === undefined) {
    const { defaultInputModes, defaultOutputModes, skills } = card;
    modes = {
      input: [...defaultInputModes, ...skills.flatMap(({ inputModes }) => inputModes)].map(essenceOf),
      output: [...defaultOutputModes, ...skills.flatMap(({ outputModes }) => outputModes)].map(essenceOf),
    };
    declared.set(card, modes);
  }
  return modes;
}

/**
 * Rejects a message with a part whose media type the agent does not accept (specification 3.1.1). Parts without a media
 * type are passed to the agent.
 *
 * @throws A2AError CONTENT_TYPE_NOT_SUPPORTED
 */
export function checkInputModes(card: AgentCard, message: Message): void {
  for (const { mediaType } of message.parts) {
    if (mediaType === "") continue;
    const { input } = modesOf(card);
    const essence = essenceOf(mediaType);
    if (input.some((mode) => includes(rangeOf(mode), essence))) continue;
    throw notSupported(`The agent does not accept ${mediaType.slice(0, 128)}.`, input);
  }
}

/**
 * Rejects a request whose accepted media types exclude all that the agent produces (specification 3.2.2). Without
 * accepted types, any is acceptable.
 *
 * @throws A2AError CONTENT_TYPE_NOT_SUPPORTED
 */
export function checkOutputModes(card: AgentCard, configuration: SendMessageConfiguration | undefined): void {
  const accepted = configuration?.acceptedOutputModes ?? [];
  if (accepted.length === 0) return;
  const { output } = modesOf(card);
  const ranges = accepted.map((mode) => rangeOf(essenceOf(mode)));
  const produces = (mode: string): boolean => ranges.some((range) => includes(range, mode) || includes(mode, range));
  if (output.map(rangeOf).some(produces)) return;
  throw notSupported("The agent produces none of the accepted media types.", output);
}

/** Early clients name a kind of parts, such as `text`, instead of a media type. */
function rangeOf(mode: string): string {
  if (mode === "*") return "*/*";
  return mode.includes("/") ? mode : `${mode}/*`;
}

/** True if a media type, or a narrower range, is in a range. */
function includes(range: string, mediaType: string): boolean {
  if (range === mediaType || range === "*/*") return true;
  return range.endsWith("/*") && mediaType.startsWith(range.slice(0, -1));
}

function notSupported(message: string, supported: readonly string[]): A2AError {
  return new A2AError("CONTENT_TYPE_NOT_SUPPORTED", message, { metadata: { supported: supported.join(", ") } });
}
