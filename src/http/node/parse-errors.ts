import { type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Peer } from "../../core/call.js";
import { peerOf } from "./peer.js";

/** Bytes that are no request of HTTP/1.1, or one that takes too long. */
export interface RefusedByNode {
  readonly peer: Peer;
  /** Node's name for what is wrong, such as `HPE_HEADER_OVERFLOW`. */
  readonly code: string;
  /** Status of the answer. */
  readonly status: number;
}

/** The statuses that Node.js answers with, where it is not 400. */
const refusalStatuses: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** What comes behind a request that said `Connection: close`: it is no request, and has no answer (RFC 9112, 9.6). */
const BEHIND_CLOSE = "HPE_CLOSED_CONNECTION";

/** What is needed to refuse what is no request. */
export interface ParseErrorsOptions {
  /** The answers of the server that have not been sent. */
  readonly open: () => readonly ServerResponse[];
  /** Called once for each refusal. */
  readonly refused: ((refused: RefusedByNode) => void) | undefined;
}

/**
 * Refuses what is no request when the requests before it on the same connection are answered. Node.js refuses at once, and ends the
 * connection with the answers that are still being made. Where there are none it is left to Node.js, which does it well: a
 * listener of `clientError` would have to answer in all cases.
 */
export function refuseInTurn(server: Server, { open, refused }: ParseErrorsOptions): void {
  const emit = server.emit;
  const held = new WeakSet<Socket>();
  server.emit = function (this: Server, event: string, ...given: unknown[]): boolean {
    const pass = (): boolean => Reflect.apply(emit, this, [event, ...given]) as boolean;
    if (event !== "clientError") return pass();
    const [{ code = "" }, socket] = given as [NodeJS.ErrnoException, Socket];
    // Anything else is the connection's, as when its client has gone away.
    if (!/^HPE_|^ERR_HTTP_/.test(code)) return pass();
    // Nothing that comes now is read as a request.
    if (held.has(socket)) return true;
    const status = refusalStatuses[code] ?? 400;
    refused?.({ peer: peerOf({ socket }), code, status });
    const before = open().filter(({ req }) => req.socket === socket);
    const whole = before.filter(({ req }) => req.complete);
    if (whole.length === 0) return pass();
    held.add(socket);
    socket.pause();
    const broken = before.find(({ req }) => !req.complete);
    afterAll(whole, () => refuse(socket, { status, isSilent: code === BEHIND_CLOSE || broken?.headersSent === true }));
    return true;
  } as typeof emit;
}

/** Calls back when all answers are sent, or given up. */
function afterAll(answers: readonly ServerResponse[], done: () => void): void {
  let left = answers.length;
  for (const answer of answers) {
    answer.once("close", () => {
      left--;
      if (left === 0) done();
    });
  }
}

/** Ends a connection with what Node.js would have said. */
function refuse(socket: Socket, { status, isSilent }: { readonly status: number; readonly isSilent: boolean }): void {
  if (socket.writable && !isSilent) {
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`);
  }
  socket.destroySoon();
}
