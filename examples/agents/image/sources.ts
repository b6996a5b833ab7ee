import {
  AgentError,
  type ConversationMessage,
  filesOf,
  type PlainFile,
  type ReadableArtifact,
  type Turn,
} from "parley-a2a";
import { type Source, sourceIn } from "./files.js";
import type { Pictures } from "./pictures.js";

/** The picture that a task is about: a file that the user sent, or an artifact; null for none. */
export type Reference =
  | { readonly messageId: string }
  | { readonly artifactId: string }
  | { readonly question: string }
  | null;

/** The picture itself, with the name of its artifact. */
export interface Found {
  readonly source: Source;
  readonly name: string | undefined;
}

/** `id <32 hex>`, as clients of the first A2A repository name a picture. */
const NAMED = /\b(?:id|artifact-file-id)\s+([0-9a-f]{32})\b/;

/**
 * Decides which picture the user means: the file that came with the messages of the task; else the artifact that a
 * part's metadata or the text names; else that of the referenced tasks; else the newest of the conversation.
 */
export async function referenceFor(turn: Turn): Promise<Reference> {
  const talk = await turn.conversation.messages();
  const said = saidIn(talk, turn);
  const sent = said.findLast((message) => pictureIn(message) !== undefined);
  if (sent?.messageId !== undefined) return { messageId: sent.messageId };
  for (const message of said.toReversed()) {
    const artifactId = namedIn(message);
    if (artifactId === undefined) continue;
    if ((await find(turn, (each) => each.artifactId === artifactId)) !== undefined) return { artifactId };
    return { question: `I do not find the picture ${artifactId}. Which one do you mean?` };
  }
  const referenced = await referencedPictures(turn);
  if (referenced.length > 1) {
    const names = referenced.map(({ name, artifactId }) => `${name} (id ${artifactId})`);
    return { question: `Which of these pictures do you mean? ${names.join(", ")}` };
  }
  const newest = talk.findLast((each) => each.artifactId !== undefined && pictureIn(each) !== undefined);
  const artifactId = referenced[0]?.artifactId ?? newest?.artifactId;
  return artifactId === undefined ? null : { artifactId };
}

/** Reads the picture of a reference. */
export async function read(
  turn: Turn,
  reference: Reference,
  pictures: Pictures | undefined,
): Promise<Found | undefined> {
  if (reference === null || "question" in reference) return undefined;
  const { name, file } = await picture(turn, reference);
  const bytes = file?.bytes ?? (await pictures?.read(file?.url ?? ""));
  if (bytes === undefined) throw new AgentError("I do not fetch pictures from other servers: send the file itself.");
  return { source: sourceIn(bytes), name };
}

/** Looks in the referenced tasks, which may be of another conversation, and in this conversation. */
async function picture(
  turn: Turn,
  reference: { messageId: string } | { artifactId: string },
): Promise<{ name: string | undefined; file: PlainFile | undefined }> {
  const isArtifact = "artifactId" in reference;
  const referenced = isArtifact ? await referencedPictures(turn) : [];
  const found =
    referenced.find(({ artifactId }) => isArtifact && artifactId === reference.artifactId) ??
    (await find(turn, (each) =>
      isArtifact ? each.artifactId === reference.artifactId : each.messageId === reference.messageId,
    ));
  return { name: found?.name, file: filesOf(found).at(0) };
}

/** Texts of the user in this task, oldest first. */
export async function textsOf(turn: Turn): Promise<string[]> {
  return saidIn(await turn.conversation.messages(), turn).map(({ text }) => text);
}

function saidIn(talk: readonly ConversationMessage[], turn: Turn): ConversationMessage[] {
  return talk.filter(({ role, taskId }) => role === "user" && taskId === turn.taskId);
}

function pictureIn(message: ConversationMessage): PlainFile | undefined {
  return filesOf(message).at(0);
}

/** The artifact that a part names in its metadata, as "Life of a task" has it, or the text. */
function namedIn({ parts, text }: ConversationMessage): string | undefined {
  const ids = parts.map(({ metadata }) => metadata?.artifactId).filter((id) => typeof id === "string");
  return ids[0] ?? NAMED.exec(text)?.[1];
}

async function referencedPictures(turn: Turn): Promise<ReadableArtifact[]> {
  const tasks = await turn.referencedTasks();
  return tasks.flatMap(({ artifacts }) => artifacts.filter((each) => filesOf(each).length > 0));
}

/** Looks for something in the conversation, from its end on. */
async function find(
  turn: Turn,
  isIt: (message: ConversationMessage) => boolean,
): Promise<ConversationMessage | undefined> {
  let before: string | undefined;
  for (;;) {
    const page = await turn.conversation.messages({ ...(before !== undefined && { before }) });
    const found = page.findLast(isIt);
    if (found !== undefined || page.length === 0) return found;
    before = page[0]?.cursor;
  }
}
