import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Exchange } from "../api/exchanges.js";
import { decodeBody } from "./bytes.js";
import { bodyPieces, headerPieces, type Piecewise, urlPieces } from "./hide.js";
import { requestJson, rpcOf, typeOf } from "./rpc.js";

/** Headers that curl sets itself, or that a browser adds. */
const own = /^(?:content-length|host|user-agent|connection|accept-encoding|sec-.*)$/i;

/** Headers of the protocol that grpcurl has to send too; those of other bindings it has not. */
const forGrpc = /^(?:a2a-|authorization$|x-|idempotency-key$|traceparent$)/i;

/** Returns a command of curl that repeats an exchange. Secrets are variables of the shell. */
export function curlOf(exchange: Exchange, secrets: readonly string[]): string {
  const { method, url, requestHeaders, request } = exchange;
  const isReadable = isText(exchange);
  const isCut = request.size > request.bytes.length;
  const headers = requestHeaders
    .filter(([name]) => !own.test(name))
    .map(([name, value]) => ["-H", quoted([`${name}: `, ...headerPieces(name, value, secrets)])]);
  const isStream = requestHeaders.some(([name, value]) => name === "accept" && value.includes("event-stream"));
  const parts = [
    ["curl", ...(isStream ? ["-N"] : []), ...(method === "GET" ? [] : ["-X", method]), quoted(urlPieces(url, secrets))],
    ...headers,
    ...(request.size === 0
      ? []
      : [["--data-binary", isCut ? "@body" : isReadable ? bodyText(exchange, secrets) : "@-"]]),
  ];
  const command = parts.map((words) => words.join(" ")).join(" \\\n  ");
  if (isReadable || isCut || request.size === 0) return command;
  return `printf %s '${btoa(String.fromCharCode(...request.bytes))}' | base64 -d | ${command}`;
}

function bodyText({ request }: Exchange, secrets: readonly string[]): string {
  return quoted(bodyPieces(decodeBody(request.bytes), secrets));
}

/** Returns the command of grpcurl for the same call; undefined if there is none, or no interface for it. */
export function grpcurlOf(
  exchange: Exchange,
  card: Pick<AgentCard, "supportedInterfaces"> | undefined,
  secrets: readonly string[],
): string | undefined {
  const rpc = rpcOf(exchange);
  const grpc = card?.supportedInterfaces.find(
    ({ protocolBinding, protocolVersion }) => protocolBinding.toUpperCase() === "GRPC" && !/^0/.test(protocolVersion),
  );
  if (rpc?.method === undefined || grpc === undefined) return undefined;
  const json = requestJson(exchange, rpc);
  if (json === undefined) return undefined;
  const { address, isPlain } = addressOf(grpc.url);
  const headers = exchange.requestHeaders
    .filter(([name]) => forGrpc.test(name))
    .map(([name, value]) => ["-H", quoted([`${name}: `, ...headerPieces(name, value, secrets)])]);
  const parts = [
    ["grpcurl", ...(isPlain ? ["-plaintext"] : [])],
    ...headers,
    ["-d", quoted(bodyPieces(JSON.stringify(json), secrets))],
    [quoted([address]), `${A2AService.typeName}/${rpc.method.name}`],
  ];
  return parts.map((words) => words.join(" ")).join(" \\\n  ");
}

function addressOf(url: string): { readonly address: string; readonly isPlain: boolean } {
  const [, scheme = "", address = url] = /^([a-z]+):\/\/+(.*?)\/?$/i.exec(url) ?? [];
  const isLocal = /^(?:localhost|127\.|\[::1\])/.test(address);
  return { address, isPlain: /^(?:http|grpc)$/i.test(scheme) || (scheme === "" && isLocal) };
}

/** Quotes a word for POSIX shells, with its secrets as variables. */
function quoted(pieces: Piecewise): string {
  let words = "";
  let text = "";
  const end = (): void => {
    if (text !== "") words += `'${text.replaceAll("'", `'\\''`)}'`;
    text = "";
  };
  for (const piece of pieces) {
    if (typeof piece === "string") text += piece;
    else {
      end();
      words += `"$${piece.variable}"`;
    }
  }
  end();
  return words;
}

/** True for bytes that can stand in an argument and be read. */
function isText({ request, requestHeaders }: Exchange): boolean {
  if (/proto/.test(typeOf(requestHeaders))) return false;
  try {
    return !new TextDecoder("utf-8", { fatal: true }).decode(request.bytes).includes("\0");
  } catch {
    return false;
  }
}
