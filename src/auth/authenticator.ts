import type { Call, CallerInput } from "../core/call.js";

/**
 * Identifies the caller from the headers (`call.header`) and the connection (`call.peer`), once per call and before any
 * other code (specification 7.4). Returning undefined refuses the call as unauthenticated; returning `anonymous` lets
 * it in without an identity. Throwing an A2AError refuses it with that error; anything else that is thrown is an
 * internal error. Credentials never reach agents, stores or logs.
 */
export interface Authenticator {
  /** The caller; undefined when its credentials are not accepted. */
  authenticate(call: Call): Promise<CallerInput | undefined> | CallerInput | undefined;
  /** Value of `WWW-Authenticate` for a refused call, such as `Bearer realm="agents"`. Default `Bearer`. */
  readonly challenge?: string;
}
