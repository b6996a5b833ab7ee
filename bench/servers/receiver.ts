/**
 * Receives notifications on every address of loopback, and never answers those for `/dead`. GET `/stats` says how many came,
 * with the rate between the first and the last tenth of them and the median of the times since they were made, as they say in
 * `sent:<nanoseconds>`; it begins to count anew.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "./child.js";

let times: number[] = [];
let delays: number[] = [];

const SENT = /sent:(\d+)/;

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

function stats(): string {
  const [from = 0, to = 0] = [0.1, 0.9].map((share) => times[Math.floor(times.length * share)]);
  const perSecond = (0.8 * times.length * 1_000) / (to - from);
  return JSON.stringify({ count: times.length, perSecond, delayMs: median(delays) });
}

const server = createServer((request, response) => {
  if (request.method === "GET") {
    const text = stats();
    if (request.url === "/reset") [times, delays] = [[], []];
    response.end(text);
    return;
  }
  if (request.url?.startsWith("/dead") === true) return;
  const at = process.hrtime.bigint();
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    times.push(performance.now());
    const sent = SENT.exec(Buffer.concat(chunks).toString("latin1"))?.[1];
    if (sent !== undefined) delays.push(Number(at - BigInt(sent)) / 1e6);
    response.writeHead(204).end();
  });
});
server.listen(0, "0.0.0.0", () => {
  serve({ http: (server.address() as AddressInfo).port, rpcPath: "/", restPath: "" });
});
