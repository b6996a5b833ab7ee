import type { Interceptor, StreamRequest, UnaryRequest } from "@connectrpc/connect";
import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { skillKey } from "../calls/call-options.js";
import { requestMessages } from "../calls/routes.js";
import type { Candidate } from "../discovery/interfaces.js";
import { clientError } from "../errors/errors.js";
import type { HttpClient } from "../platform.js";
import { type Choice, chooseCredentials } from "./choose.js";
import type { Credentials } from "./credential.js";
import { type CredentialHosts, hasCredentials } from "./credential-hosts.js";
import { isOwnRefusal, ownRefusal } from "./own-refusal.js";
import { ShownCredentials } from "./shown.js";

/** What the credentials of calls depend on. */
export interface Authenticating {
  readonly card: AgentCard;
  readonly credentials: Credentials | undefined;
  /** Hosts that get credentials. */
  readonly hosts: CredentialHosts;
  /** Connections show a certificate. */
  readonly certificate: boolean;
  readonly http: HttpClient;
}

type Request = UnaryRequest | StreamRequest;

/**
 * Puts the caller's credentials onto each call of an interface, and onto nothing else; one that is refused, and may do better with newer
 * ones, is made once more (specification 7.3, 7.4). A call to a host that gets no credentials fails instead of showing some. Undefined
 * where calls go without.
 */
export function authentication(candidate: Candidate, given: Authenticating): Interceptor | undefined {
  const { card, credentials, hosts, certificate, http } = given;
  const { url } = candidate;
  const options = { certificate, query: candidate.binding !== "GRPC" };
  const usual = chooseCredentials(card, credentials, options);
  const guarded = new Set(card.skills.flatMap(({ id, securityRequirements: { length } }) => (length > 0 ? [id] : [])));
  const isOpen = hosts.has(url);
  if (isOpen && isEmpty(usual) && guarded.size === 0) return undefined;
  // Made when they are first called: a card may have many skills.
  const choices = new Map<string, Choice>();
  const choiceOf = (skill: string): Choice => {
    if (!guarded.has(skill)) return usual;
    const choice = choices.get(skill) ?? chooseCredentials(card, credentials, { ...options, skill });
    choices.set(skill, choice);
    return choice;
  };
  return (next) => async (request) => {
    const choice = choiceOf(request.contextValues.get(skillKey));
    if (!isOpen && (choice.schemes.length > 0 || hasCredentials(request.header, card)))
      throw ownRefusal(hosts.refusal(url));
    if (isEmpty(choice)) return next(request);
    const shown = new ShownCredentials(choice, { card, url, http, signal: request.signal });
    const asked = request.stream ? await repeatable(request) : () => request;
    const attempt = async () => next(await withCredentials(asked(), shown));
    const again = async (thrown: unknown) => {
      if (!isOwnRefusal(thrown) && (await shown.again(clientError(thrown)))) return attempt();
      throw thrown;
    };
    const response = await attempt().catch(again);
    if (!response.stream) return response;
    const message = orAgain(response.message, async (thrown) => {
      const second = await again(thrown);
      return second.message as AsyncIterable<never>;
    });
    return { ...response, message };
  };
}

const isEmpty = ({ schemes, unmet }: Choice): boolean => schemes.length === 0 && unmet === undefined;

/** Headers of its own for each attempt: what was refused is not in the next one. */
async function withCredentials(request: Request, shown: ShownCredentials): Promise<Request> {
  const header = new Headers(request.header);
  let { url } = request;
  await shown.apply({
    header,
    addQuery: (name, value) => {
      const { href } = withParameter(url, name, value);
      url = href;
    },
  });
  return { ...request, header, url } as Request;
}

function withParameter(url: string, name: string, value: string): URL {
  const made = new URL(url);
  made.searchParams.append(name, value);
  return made;
}

/** A call of the protocol has one message, which each attempt sends. */
async function repeatable(request: StreamRequest): Promise<() => StreamRequest> {
  const messages: (typeof request.message extends AsyncIterable<infer M> ? M : never)[] = [];
  for await (const message of request.message) messages.push(message);
  return () => ({ ...request, message: requestMessages(messages) });
}

/** Some bindings say first in the stream that a call is refused: what came instead goes on in its place. */
function orAgain<M>(first: AsyncIterable<M>, again: (thrown: unknown) => Promise<AsyncIterable<M>>): AsyncIterable<M> {
  return {
    [Symbol.asyncIterator]() {
      let messages = first[Symbol.asyncIterator]();
      let hasBegun = false;
      return {
        async next() {
          if (hasBegun) return messages.next();
          hasBegun = true;
          try {
            return await messages.next();
          } catch (thrown) {
            messages = (await again(thrown))[Symbol.asyncIterator]();
            return messages.next();
          }
        },
        async return(value?: unknown) {
          return (await messages.return?.(value)) ?? { done: true as const, value: undefined };
        },
      };
    },
  };
}
