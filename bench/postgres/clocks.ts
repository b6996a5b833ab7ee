/** Tasks whose events contain the time of their `yield`, and subscribers that record the age of each event on arrival. */
import { get, request } from "node:http";
import type { Called } from "../calls.js";

/** Ages of events by their text, in milliseconds. */
export type Ages = Map<string, number>;

const COMMON = { "a2a-version": "1.0" };

/** Sends a message and returns the id of its task. */
export function begin({ at }: Called, text: string): Promise<string> {
  const message = { messageId: `${Math.random()}`, role: "ROLE_USER", parts: [{ text }] };
  return new Promise((resolve, reject) => {
    const options = { method: "POST", headers: { ...COMMON, "content-type": "application/json" } };
    const call = request(`http://127.0.0.1:${at.http}/message:send`, options, (answer) => {
      let body = "";
      answer.setEncoding("utf8").on("data", (piece: string) => {
        body += piece;
      });
      answer.on("end", () => resolve(JSON.parse(body).task.id));
    });
    call.on("error", reject);
    call.end(JSON.stringify({ message, configuration: { returnImmediately: true } }));
  });
}

/** Follows a task to its end, and notes the age of each event at its arrival. Returns their number, with those before. */
export function subscribe({ at }: Called, id: string, ages: Ages): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { headers: { ...COMMON, accept: "text/event-stream" } };
    const call = get(`http://127.0.0.1:${at.http}/tasks/${id}:subscribe`, options, (stream) => {
      let events = 0;
      let rest = "";
      stream.setEncoding("utf8").on("data", (piece: string) => {
        // The clock of all processes of the machine.
        const now = process.hrtime.bigint();
        const lines = (rest + piece).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          const times = [...line.matchAll(/"text":"(\d{8,})"/g)];
          events += times.length;
          if (!line.includes('"artifactUpdate"')) continue;
          for (const [, time = ""] of times) ages.set(time, Number(now - BigInt(time)) / 1e6);
        }
      });
      stream.on("end", () => resolve(events));
    });
    call.on("error", reject);
  });
}
