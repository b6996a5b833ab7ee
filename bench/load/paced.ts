import { setTimeout } from "node:timers/promises";
import type { PacedJob, PacedResult, SlowReadersJob, SlowReadersResult } from "../protocol.js";
import { openHttp1, openSocket } from "./http1.js";

/** Time between two reads of a slow reader, in milliseconds. */
const SIP_MS = 50;

/** Sends calls with a pause after each answer, and tells how long each answer took: what a caller feels beside other work. */
export async function paced({ call, callers, pauseMs, ms }: PacedJob): Promise<PacedResult> {
  if (call.transport !== "http1") throw new Error("paced calls are HTTP/1.1");
  const took: number[] = [];
  const end = performance.now() + ms;
  const caller = async (): Promise<void> => {
    const connection = await openHttp1(call);
    try {
      while (performance.now() < end) {
        const begin = performance.now();
        await connection.exchange();
        took.push(performance.now() - begin);
        await setTimeout(pauseMs);
      }
    } finally {
      connection.close();
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { took };
}

/** Sends one call per reader again and again, and takes the answers in sips. */
export async function slowReaders({ call, readers, bytesPerSecond, ms }: SlowReadersJob): Promise<SlowReadersResult> {
  if (call.transport !== "http1") throw new Error("slow readers are HTTP/1.1");
  const sip = Math.ceil((bytesPerSecond * SIP_MS) / 1_000);
  let bytes = 0;
  const end = performance.now() + ms;
  const reader = async (): Promise<void> => {
    const socket = await openSocket(call.port);
    socket.on("error", () => {});
    let taken = 0;
    socket.on("data", (chunk) => {
      bytes += chunk.length;
      taken += chunk.length;
      if (taken >= sip) socket.pause();
    });
    socket.write(Buffer.from(call.request, "base64"));
    while (performance.now() < end && !socket.destroyed) {
      await setTimeout(SIP_MS);
      taken = 0;
      socket.resume();
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: readers }, reader));
  return { bytes };
}
