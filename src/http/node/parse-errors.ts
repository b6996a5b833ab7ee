import { type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Peer } from "../../core/call.js";
import { A2AError } from "../../core/error.js";
import { peerOf } from "./peer.js";
import type { NodeServerRequest } from "./types.js";

/** Input that is not a valid HTTP/1.1 request, or a request that takes too long. */
export interface NodeRejection {
  readonly peer: Peer;
  /** Node's error code, such as `HPE_HEADER_OVERFLOW`. */
  readonly code: string;
  /** Status of the answer. */
  readonly status: number;
}

/** Statuses with which Node.js answers, other than 400. */
const rejectionStatuses: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/**
 * Error code of bytes after a request with `Connection: close`. They are not a request and get no answer (RFC 9112,
 * 9.6).
 */
const BEHIND_CLOSE = "HPE_CLOSED_CONNECTION";

/** Dependencies of `rejectInTurn`. */
interface ParseErrorsOptions {
  /** Returns the server's answers that have not been sent completely. */
  readonly open: () => readonly ServerResponse[];
  /** Called once for each refusal. */
  readonly onRejection: ((rejection: NodeRejection) => void) | undefined;
}

/**
 * Refuses invalid input only after the earlier requests on the same connection are answered. Node.js would refuse at
 * once and end the connection, which loses the pending answers. Without pending answers, Node.js refuses the input
 * itself: a listener of `clientError` would have to answer in all cases, so `emit` is replaced instead.
 */
export function rejectInTurn(server: Server, { open, onRejection }: ParseErrorsOptions): void {
  const emit = server.emit;
  const held = new WeakSet<Socket>();
  server.emit = function (this: Server, event: string, ...given: unknown[]): boolean {
    const pass = (): boolean => Reflect.apply(emit, this, [event, ...given]) as boolean;
    if (event !== "clientError") return pass();
    const [{ code = "" }, socket] = given as [NodeJS.ErrnoException, Socket];
    // Other errors concern the connection, such as a client that disconnected.
    if (!/^HPE_|^ERR_HTTP_/.test(code)) return pass();
    // Further input of a refused connection is ignored.
    if (held.has(socket)) return true;
    const status = rejectionStatuses[code] ?? 400;
    onRejection?.({ peer: peerOf({ socket }), code, status });
    const before = open().filter(({ req }) => req.socket === socket);
    const whole = before.filter(({ req }) => req.complete);
    if (whole.length === 0) return pass();
    held.add(socket);
    socket.pause();
    const broken = before.find(({ req }) => !req.complete);
    afterAll(whole, () => reject(socket, { status, isSilent: code === BEHIND_CLOSE || broken?.headersSent === true }));
    return true;
  } as typeof emit;
}

/** Calls back after all answers were sent or abandoned. */
function afterAll(answers: readonly ServerResponse[], done: () => void): void {
  let left = answers.length;
  for (const answer of answers) {
    answer.once("close", () => {
      left--;
      if (left === 0) done();
    });
  }
}

/** Ends a connection with the answer that Node.js would have sent. */
function reject(socket: Socket, { status, isSilent }: { readonly status: number; readonly isSilent: boolean }): void {
  if (socket.writable && !isSilent) {
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`);
  }
  socket.destroySoon();
}

/**
 * Returns the error for a body in a transfer coding that Node.js leaves to its reader, such as `gzip, chunked` (RFC
 * 9112, 6.1).
 */
export function codingFault({ headers }: NodeServerRequest): A2AError | undefined {
  const coding = headers["transfer-encoding"];
  if (coding === undefined || coding === "chunked" || /^[\s,]*chunked[\s,]*$/i.test(coding)) return undefined;
  return new A2AError("INVALID_REQUEST", "The transfer coding of the body is not supported; only chunked is.");
}
