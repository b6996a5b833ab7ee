import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { CallCredentials } from "../../../src/client/credentials/call-credentials.js";
import { type ChooseOptions, chooseCredentials } from "../../../src/client/credentials/choose.js";
import type { Credentials } from "../../../src/client/credentials/credential.js";
import type { HttpClient } from "../../../src/client/platform.js";
import { A2AError } from "../../../src/core/error.js";
import type { CallOptions, Driver, Reply } from "../../support/driver.js";
import type { WireError } from "../../support/wire-error.js";

/** Fetches a server's card. */
export async function cardAt(url: string): Promise<AgentCard> {
  const answer = await fetch(`${url}/.well-known/agent-card.json`);
  return fromJson(AgentCardSchema, (await answer.json()) as JsonObject, { ignoreUnknownFields: true });
}

/** An HTTP client for credentials that must not make requests. */
export const noHttp: HttpClient = () => Promise.reject(new Error("nothing is asked here"));

/** A call with credentials, which is repeated once if other credentials may be accepted. */
export interface AuthenticatedCall extends ChooseOptions {
  readonly card: AgentCard;
  readonly url: string;
  readonly credentials: Credentials | undefined;
  readonly http?: HttpClient;
  readonly signal?: AbortSignal;
}

/** Headers and query of one attempt. */
export interface Shown {
  readonly headers: Record<string, string>;
  readonly query: Record<string, string>;
}

/** The credentials of one call, with a function that prepares an attempt. */
export function showing({ card, url, credentials, http = noHttp, signal, ...options }: AuthenticatedCall) {
  const shown = new CallCredentials(chooseCredentials(card, credentials, options), {
    card,
    url,
    http,
    signal,
  });
  return {
    again: (error: A2AError) => shown.again(error),
    async attempt(): Promise<Shown> {
      const header = new Headers();
      const query: Record<string, string> = {};
      await shown.apply({
        header,
        addQuery: (name, value) => {
          query[name] = value;
        },
      });
      return { headers: Object.fromEntries(header), query };
    },
  };
}

/** Makes a call over a driver of any binding. Repeats it once with other credentials. */
export async function callWith(
  driver: Driver,
  call: AuthenticatedCall,
  request: JsonObject,
): Promise<Reply & { tries: number }> {
  const shown = showing(call);
  const once = async (): Promise<Reply> =>
    driver.call("SendMessage", request, (await shown.attempt()) satisfies CallOptions);
  const first = await once();
  if (first.error === undefined || !(await shown.again(errorOf(first.error, first.headers))))
    return { ...first, tries: 1 };
  return { ...(await once()), tries: 2 };
}

/** Converts a driver's error to the error of a client's transport. */
export function errorOf(error: WireError, headers: Readonly<Record<string, string>>): A2AError {
  const challenge = headers["www-authenticate"];
  const reason = error.reason as "UNAUTHENTICATED";
  return new A2AError(
    reason,
    error.message,
    challenge === undefined ? {} : { headers: { "www-authenticate": challenge } },
  );
}
