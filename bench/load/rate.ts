import type { AnswerResult, RateJob, RateResult, StreamResult, WireCall } from "../protocol.js";
import { openHttp1, openSse } from "./http1.js";
import { openGrpcStream, openHttp2 } from "./http2.js";
import type { Connection, OpenStream, StreamSink } from "./request.js";

/** Number of callers that share one HTTP/2 connection. 50 callers use five connections. */
const CALLS_PER_CHANNEL = 10;

/** Measures calls a second. Rejects at the first answer that is not what was expected. */
export async function rate(job: RateJob): Promise<RateResult> {
  const { call, callers, pipelined = 1, ms = Number.POSITIVE_INFINITY, calls = Number.POSITIVE_INFINITY } = job;
  const perConnection = call.transport === "http1" ? pipelined : CALLS_PER_CHANNEL;
  const connections = await Promise.all(
    Array.from({ length: Math.ceil(callers / perConnection) }, () => openConnection(call)),
  );
  let begun = 0;
  let bytes = 0;
  const cpu = process.cpuUsage();
  const start = performance.now();
  const caller = async (connection: Connection): Promise<void> => {
    while (begun < calls && performance.now() - start < ms) {
      begun++;
      const body = await connection.exchange();
      bytes += body.length;
    }
  };
  try {
    const at = (index: number): Connection => connections[Math.floor(index / perConnection)] as Connection;
    await Promise.all(Array.from({ length: callers }, (_, index) => caller(at(index))));
  } finally {
    for (const connection of connections) connection.close();
  }
  const used = process.cpuUsage(cpu);
  return { calls: begun, ms: performance.now() - start, cpuMs: (used.user + used.system) / 1_000, bytes };
}

/** Sends one call. */
export async function answer(call: WireCall): Promise<AnswerResult> {
  const connection = await openConnection(call);
  try {
    return { body: (await connection.exchange()).toString("base64") };
  } finally {
    connection.close();
  }
}

function openConnection(call: WireCall): Promise<Connection> {
  return call.transport === "http1" ? openHttp1(call) : openHttp2(call);
}

/** Measures one stream from the request to its end, or to a limit in milliseconds. */
export async function stream(call: WireCall, limitMs?: number): Promise<StreamResult> {
  const start = performance.now();
  let events = 0;
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  let opened: Promise<OpenStream> | undefined;
  const isCutOff = await new Promise<boolean>((resolve, reject) => {
    const sink: StreamSink = {
      arrived: (more, size) => {
        events += more;
        bytes += size;
      },
      over: (error) => (error === undefined ? resolve(false) : reject(error)),
    };
    opened = call.transport === "http1" ? openSse(call, sink) : openGrpcStream(call, sink);
    opened.catch(reject);
    if (limitMs !== undefined) timer = setTimeout(() => resolve(true), limitMs);
  });
  const ms = performance.now() - start;
  clearTimeout(timer);
  (await opened)?.close();
  return { ms, events, bytes, isCutOff };
}
