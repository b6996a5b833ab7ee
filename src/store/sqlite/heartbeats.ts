// The thread that sends heartbeats of a worker to the writer process while an agent blocks the event loop. It stops with
// its process, and so do the heartbeats.

import { parentPort, workerData } from "node:worker_threads";
import { Heartbeat } from "../heartbeat.js";
import type { HeartbeatRequest } from "../task-store.js";
import { MessageBuilder } from "./write-codec.js";
import { WriterLink, type WriterPlace } from "./writer-link.js";

const place = workerData as WriterPlace;

/** Opened when a heartbeat is due: few processes ever need one. */
let link: WriterLink | undefined;

function linked(): WriterLink {
  if (link !== undefined) return link;
  const opened = new WriterLink(place);
  opened.on("messageerror", () => opened.terminate());
  opened.on("exit", () => {
    link = undefined;
  });
  link = opened;
  return opened;
}

const heartbeats = new Heartbeat((request) => {
  const message = new MessageBuilder();
  message.addOther({ method: "heartbeatForHolder", request });
  linked().postMessage(message.take());
});
parentPort?.on("message", (request: HeartbeatRequest) => heartbeats.note(request));
