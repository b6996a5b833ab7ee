import { queryOptions } from "@tanstack/react-query";
import { type FoundCard, findCard } from "../../../src/client/discovery/discovery.js";
import { clientLimits } from "../../../src/client/limits.js";
import type { HttpClient } from "../../../src/client/platform.js";
import { fetchClient } from "../../../src/client/web/http.js";
import { type CardViolation, cardViolations } from "../../../src/examine/card-validate.js";
import { Wire, type WireExchange } from "../../../src/examine/wire.js";
import { absolute } from "../api/agents.js";
import { inBackground } from "../api/background.js";
import { relayFetchOf } from "../api/relay.js";

/** A card as it was received. */
export interface ReceivedCard {
  readonly found: FoundCard;
  /** The request that brought it, and its answer. */
  readonly exchange: WireExchange | undefined;
  /** Time until the card was there, in milliseconds. */
  readonly ms: number;
}

/** An answer that cannot be used as a card. */
export class UnusableCard extends Error {
  override name = "UnusableCard";
  /** The answer. */
  readonly text: string;
  readonly violations: readonly CardViolation[];

  constructor(message: string, text: string, violations: readonly CardViolation[], cause: unknown) {
    super(message, { cause });
    this.text = text;
    this.violations = violations;
  }
}

/** Returns the HTTP client with which an agent is examined. */
export const httpOf = (agent: string): HttpClient => fetchClient(relayFetchOf(agent));

/**
 * Returns the query of an agent's card.
 *
 * @param url that of the agent or of its card
 * @param isListed true for one of many, which wait for one another
 */
export function cardQuery(url: string, isListed = false) {
  const agent = absolute(url);
  return queryOptions({
    queryKey: ["card", agent],
    queryFn: ({ signal }) => {
      const read = (): Promise<ReceivedCard> => receivedCard(agent, signal);
      return isListed ? inBackground(signal, read) : read();
    },
    staleTime: 60_000,
    retry: false,
    structuralSharing: false,
  });
}

async function receivedCard(agent: string, signal: AbortSignal): Promise<ReceivedCard> {
  const wire = new Wire([]);
  const begin = performance.now();
  const http = wire.tap(httpOf(agent));
  try {
    const limits = clientLimits({ maxAttempts: 1 });
    const found = await findCard(agent, { http, options: {}, cache: undefined, limits, signal });
    return { found, exchange: wire.last, ms: performance.now() - begin };
  } catch (error) {
    throw withText(error, wire.last);
  }
}

/** Adds the answer to the error of a card that cannot be used. */
function withText(error: unknown, exchange: WireExchange | undefined): unknown {
  if (!(error instanceof Error) || exchange?.status !== 200 || exchange.body === "") return error;
  try {
    return new UnusableCard(error.message, exchange.body, cardViolations(JSON.parse(exchange.body)), error);
  } catch {
    return new UnusableCard(error.message, exchange.body, [], error);
  }
}
