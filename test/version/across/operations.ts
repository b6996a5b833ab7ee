import type { Request } from "../cases/case.js";
import type { Speaker } from "./speakers.js";

/** An operation on a caller's task, in a version's own form. */
export interface Operation {
  readonly name: string;
  readonly isStream: boolean;
  readonly request: (speaker: Speaker, task: { readonly id: string; readonly hook: string }) => Request | undefined;
}

/** True if a speaker's version has the operation. */
export const has = (request: Operation["request"], speaker: Speaker): boolean =>
  request(speaker, { id: "x", hook: "x" }) !== undefined;

const config = "a-configuration";

/** Everything that can be asked about a task; what a version does not have is undefined. */
export const operations: readonly Operation[] = [
  { name: "get", isStream: false, request: (speaker, { id }) => speaker.get(id) },
  { name: "cancel", isStream: false, request: (speaker, { id }) => speaker.cancel(id) },
  { name: "subscribe", isStream: true, request: (speaker, { id }) => speaker.subscribe(id) },
  {
    name: "send to it",
    isStream: false,
    request: (speaker, { id }) => speaker.send({ text: "Android", taskId: id, messageId: "m-owned" }),
  },
  {
    name: "send to it and stream",
    isStream: true,
    request: (speaker, { id }) => speaker.stream({ text: "Android", taskId: id, messageId: "m-owned" }),
  },
  {
    name: "set a webhook",
    isStream: false,
    request: (speaker, { id, hook }) => speaker.setPush(id, { id: config, url: hook }),
  },
  { name: "get a webhook", isStream: false, request: (speaker, { id }) => speaker.getPush(id, config) },
  { name: "list webhooks", isStream: false, request: (speaker, { id }) => speaker.listPush?.(id) },
  { name: "delete a webhook", isStream: false, request: (speaker, { id }) => speaker.deletePush?.(id, config) },
];

/** Operations that are not about one task. */
export const general: readonly Operation[] = [
  { name: "send", isStream: false, request: (speaker) => speaker.send({ text: "hello" }) },
  { name: "stream", isStream: true, request: (speaker) => speaker.stream({ text: "hello" }) },
  { name: "extended card", isStream: false, request: (speaker) => speaker.extendedCard?.() },
];
