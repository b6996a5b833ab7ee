import {
  ConnectError,
  type Interceptor,
  type StreamResponse,
  type Transport,
  type UnaryResponse,
} from "@connectrpc/connect";
import { mapStream } from "../../core/map-stream.js";
import { clientError, connectErrorOf } from "../errors/errors.js";

/** Returns a transport that throws `failed(error)` for each error, also for those of its streams. */
export function withErrors(transport: Transport, failed: (error: unknown) => unknown): Transport {
  return {
    unary: (...call) => converted(() => transport.unary(...call), failed),
    stream: (...call) => converted(() => transport.stream(...call), failed),
  };
}

/** Returns a transport that throws ConnectErrors, which callers of Connect expect, each with the A2AError as `cause`. */
export function withConnectErrors(transport: Transport): Transport {
  return withErrors(transport, connectErrorFor);
}

/** Converts errors in the same way for the interceptors outside of it, which are the caller's own. */
export const connectErrors: Interceptor = (next) => (request) => converted(async () => next(request), connectErrorFor);

async function converted<R extends UnaryResponse | StreamResponse>(
  call: () => Promise<R>,
  failed: (error: unknown) => unknown,
): Promise<R> {
  try {
    const response = await call();
    if (!response.stream) return response;
    return { ...response, message: mapStream(response.message, { item: (message) => message, failed }) };
  } catch (error) {
    throw failed(error);
  }
}

function connectErrorFor(thrown: unknown): ConnectError {
  if (thrown instanceof ConnectError) return thrown;
  const error = clientError(thrown);
  // An interceptor threw it, or a signal fired with it.
  return error.cause instanceof ConnectError ? error.cause : connectErrorOf(error);
}
