import type { Interceptor, StreamRequest, UnaryRequest } from "@connectrpc/connect";
import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { restated } from "../../core/error.js";
import { begunStream, prepend } from "../../core/map-stream.js";
import { skillKey } from "../calls/call-options.js";
import { gathered, type PresentCard, requestMessages } from "../calls/failover.js";
import type { Candidate } from "../discovery/interfaces.js";
import { clientError, sentence } from "../errors/errors.js";
import type { HttpClient } from "../platform.js";
import { CallCredentials } from "./call-credentials.js";
import { type Choice, chosenCredentials, missingCredentials } from "./choose.js";
import type { Credentials } from "./credential.js";
import { type CredentialHosts, hasCredentials } from "./credential-hosts.js";
import { isOwnRefusal, ownRefusal } from "./own-refusal.js";

/** Dependencies of a call's credentials. */
interface Authenticating {
  readonly card: AgentCard;
  readonly credentials: Credentials | undefined;
  /** Hosts that receive credentials. */
  readonly hosts: CredentialHosts;
  /** True if connections present a client certificate. */
  readonly certificate: boolean;
  readonly http: HttpClient;
  readonly present: PresentCard;
}

type Request = UnaryRequest | StreamRequest;

/**
 * Adds the caller's credentials to each call of an interface, and to nothing else. A rejected call is retried once if a
 * credential can be renewed (specification 7.3, 7.4), or if its card asked for none and the agent's present card does. A
 * call to a host that must not receive credentials fails before any are sent. Without credentials, the error of a
 * rejected call names the schemes of the card. Returns undefined if calls need no credentials.
 */
export function authentication(candidate: Candidate, given: Authenticating): Interceptor | undefined {
  const { card, credentials, hosts, certificate, http, present } = given;
  const { url, binding } = candidate;
  const isOpen = hosts.has(url);
  const hasNone = credentials === undefined && !certificate;
  if (isOpen && hasNone && Object.keys(card.securitySchemes).length === 0) return undefined;
  const choose = (from: AgentCard, skill: string): Choice =>
    chosenCredentials(from, credentials, { certificate, query: binding !== "GRPC", skill });
  const usual = choose(card, "");
  return (next) => async (request) => {
    const skill = request.contextValues.get(skillKey);
    const context = { card, url, http, signal: request.signal };
    let choice = skill === "" ? usual : choose(card, skill);
    if (!isOpen && (choice.schemes.length > 0 || hasCredentials(request.header, card)))
      throw ownRefusal(hosts.refusal(url));
    let callCredentials = new CallCredentials(choice, context);
    // A call that has nothing to add is sent as it is, once.
    const asked = request.stream && !hasNone ? await repeatable(request) : () => request;
    const attempt = async () => next(hasNone ? request : await withCredentials(asked(), callCredentials));
    const again = async (thrown: unknown) => {
      const error = clientError(thrown);
      let isBetter = !isOwnRefusal(thrown) && (await callCredentials.again(error));
      const isRefused = error.reason === "UNAUTHENTICATED" && isEmpty(choice);
      if (isRefused && isOpen && !hasNone) {
        const newer = await present(request.signal).catch(() => card);
        choice = choose(newer, skill);
        callCredentials = new CallCredentials(choice, { ...context, card: newer });
        isBetter = !isEmpty(choice);
      }
      if (isBetter) return attempt();
      const missing =
        isRefused &&
        credentials === undefined &&
        !hasCredentials(request.header, card) &&
        missingCredentials(card, skill);
      throw missing ? restated(error, { message: `${sentence(error.message)} ${missing} (credentials)` }) : thrown;
    };
    const response = await attempt().catch(again);
    if (!response.stream) return response;
    // Some bindings report a rejected call only when its stream is read.
    const message = begunStream(response.message, (messages) =>
      messages.next().then(
        (first) => prepend(first, messages),
        async (thrown) => (await again(thrown)).message as AsyncIterable<never>,
      ),
    );
    return { ...response, message };
  };
}

const isEmpty = ({ schemes, unmet }: Choice): boolean => schemes.length === 0 && unmet === undefined;

/** Builds new headers for each attempt, so that rejected credentials are not repeated. */
async function withCredentials(request: Request, callCredentials: CallCredentials): Promise<Request> {
  const header = new Headers(request.header);
  let { url } = request;
  await callCredentials.apply({
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

/** Buffers a stream's request for each attempt. */
async function repeatable(request: StreamRequest): Promise<() => StreamRequest> {
  const messages = await gathered(request.message);
  return () => ({ ...request, message: requestMessages(messages) });
}
