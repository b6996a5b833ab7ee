import { clientError } from "../../../src/client/web.js";
import { withoutSecrets } from "../../../src/core/net.js";
import { checkedCard, subjectOfCard } from "../../../src/examine/card-validate.js";
import { type Line, lineOf, type Subject } from "../../../src/examine/check.js";
import { checkLines, uncalled } from "../../../src/examine/check-lines.js";
import { cardChecks } from "../../../src/examine/served-card.js";
import { Wire } from "../../../src/examine/wire.js";
import { httpOf, type ReceivedCard } from "./card.js";
import { type Declared, interfacesOf, openInterface } from "./interfaces.js";

interface Examination {
  /** Text of the messages that are sent. */
  readonly text: string;
  readonly signal: AbortSignal;
}

/** Yields the lines of the card: its members, and how it is served. */
export async function* cardLines(
  agent: string,
  { found, exchange }: ReceivedCard,
  signal: AbortSignal,
): AsyncGenerator<Line> {
  yield checkedCard(found);
  const probe = { found, exchange, http: httpOf(agent), signal };
  for (const check of cardChecks) {
    signal.throwIfAborted();
    yield lineOf(subjectOfCard(found), check, await check.run(probe));
  }
}

/** Yields the lines of every interface of a card, each in its own version. */
export async function* interfaceLines(agent: string, card: ReceivedCard, options: Examination): AsyncGenerator<Line> {
  for (const each of interfacesOf(card.found)) yield* linesOf(agent, card, each, options);
}

async function* linesOf(
  agent: string,
  { found: { card } }: ReceivedCard,
  { declared, candidate, reason = "" }: Declared,
  { text, signal }: Examination,
): AsyncGenerator<Line> {
  if (candidate === undefined) {
    const { protocolBinding: binding, protocolVersion: version, url } = declared;
    yield uncalled({ binding, version, url: withoutSecrets(url) }, { skipped: reason });
    return;
  }
  const { binding, version, url } = candidate;
  const subject: Subject = { binding, version, url: withoutSecrets(url) };
  const required = card.capabilities?.extensions.filter((each) => each.required).map(({ uri }) => uri) ?? [];
  const wire = new Wire(required);
  try {
    const client = await openInterface(agent, card, candidate, { tap: wire.tap });
    try {
      yield* checkLines({ client, card, binding, text, signal, wire }, candidate, subject, { isStrict: false });
    } finally {
      await client.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    const { reason: why, message } = clientError(error);
    yield uncalled(subject, { fault: `${why}: ${message}` });
  }
}
