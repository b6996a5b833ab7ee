import { absent, present } from "../../support/match.js";
import { type Case, call, refused, type Step, say } from "../case.js";

const setup = "modes";
const part = (mediaType: string) => ({ parts: [{ text: "echo hi" }, { raw: "AAEC", mediaType }] });

const accepting = (...acceptedOutputModes: string[]) =>
  say("echo hi", { contextId: "{run}" }, { configuration: { acceptedOutputModes } });

/** Accepted media types of callers, for an agent that declares `text/markdown` and `image/*`. */
const accepted: readonly (readonly string[])[] = [
  [],
  ["text/markdown"],
  ["audio/mpeg", "TEXT/Markdown; charset=utf-8"],
  ["text"],
  ["text/*"],
  ["*/*"],
  ["*"],
  ["image/png"],
  ["image"],
];
const unaccepted: readonly (readonly string[])[] = [
  ["text/plain"],
  ["application/json", "audio/*"],
  ["imagery/png"],
  ["file"],
];

const taken = ["text/plain", "text/plain; charset=utf-8", "image/png", "image/svg+xml", "IMAGE/PNG"];
const refusedTypes = ["application/json", "audio/mpeg", "text/html", "imagery/png", "image"];

/** Media types of parts: those that the agent accepts, and others. */
export const mediaTypeCases: readonly Case[] = [
  {
    name: "parts of a type that the card names are taken, and parts without one",
    ids: ["SRV-SEND-08", "SRV-CARD-12", "SRV-SEC-05"],
    setup,
    steps: [
      call("SendMessage", say("echo hi"), { message: { task: present } }),
      ...taken.map((type): Step => call("SendMessage", say("", part(type)), { message: { task: present } })),
    ],
  },
  ...refusedTypes.map(
    (type): Case => ({
      name: `a part of type ${type} is refused`,
      ids: ["SRV-SEND-08", "SRV-STRM-08", "SRV-ERR-06", "SRV-SEC-05"],
      setup,
      steps: ["SendMessage", "SendStreamingMessage"].flatMap((rpc) =>
        refused(rpc, say("", part(type)), {
          reason: "CONTENT_TYPE_NOT_SUPPORTED",
          info: { supported: "text/plain, image/*" },
        }),
      ),
    }),
  ),
  ...accepted.map(
    (modes): Case => ({
      name: `a caller that accepts ${modes.join(", ") || "anything"} gets its answer`,
      ids: ["SRV-SEND-08"],
      setup: "outputs",
      steps: [call("SendMessage", accepting(...modes), { message: { task: present } })],
    }),
  ),
  ...unaccepted.map(
    (modes): Case => ({
      name: `a caller that accepts only ${modes.join(", ")} is refused, and nothing is stored`,
      ids: ["SRV-SEND-08", "SRV-STRM-08", "SRV-ERR-06"],
      setup: "outputs",
      steps: [
        ...["SendMessage", "SendStreamingMessage"].flatMap((rpc) =>
          refused(rpc, accepting(...modes), {
            reason: "CONTENT_TYPE_NOT_SUPPORTED",
            info: { supported: "text/markdown, image/*" },
          }),
        ),
        call("ListTasks", { contextId: "{run}" }, { message: { tasks: absent } }),
      ],
    }),
  ),
];
