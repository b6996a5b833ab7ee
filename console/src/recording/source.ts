import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import {
  headLine,
  MAX_RECORDING_BYTES,
  parseRecording,
  type Recording,
  RecordingFault,
  turnLine,
} from "../../../src/examine/recording/format.js";
import { useLoginRevision } from "../agents/client.js";
import { secretsAt } from "../agents/logins.js";
import { type Session, serverRecording } from "../api/session.js";
import { withoutKnown } from "../exchanges/hide.js";
import { recordedTalk } from "../talk/recorded.js";
import type { TalkStore } from "../talk/talk-store.js";
import { recordingWords } from "../texts/recording.js";
import { sentenceOf } from "../ui/error.js";

/** Turns that a page replays. */
const MAX_TURNS = 1_000;

/** An open recording. */
export interface Opened {
  readonly name: string;
  readonly recording: Recording;
}

/** Removes the credentials for an agent, as the command line does. */
export function cleanFor(agent: string): (text: string) => string {
  const secrets = secretsAt(agent);
  return (text) => withoutKnown(text, secrets, "[redacted]");
}

/** Reads the text of a file. @throws Error with a sentence about the file */
function read(name: string, text: string): Opened {
  try {
    // Lines beyond the limit are not read: there may be a million.
    const recording = parseRecording(text.split("\n", MAX_TURNS + 3).join("\n"));
    if (recording.turns.length > MAX_TURNS) throw new Error(recordingWords.tooMany(name, MAX_TURNS));
    return { name, recording };
  } catch (error) {
    throw error instanceof RecordingFault ? new Error(`${error.about(name)}.`) : error;
  }
}

async function readFile(file: File): Promise<Opened> {
  const name = file.name.slice(0, 200);
  if (file.size > MAX_RECORDING_BYTES) throw new Error(recordingWords.tooLarge(name));
  const text = await file.text().catch((error: unknown) => {
    throw new Error(recordingWords.unreadable(name, sentenceOf(error)));
  });
  return read(name, text);
}

const KEY = ["recording"] as const;

/** Returns the recording of a file: the one that was opened last, or that of the command line. */
export function useFile(session: Session | undefined) {
  const queries = useQueryClient();
  const [fault, setFault] = useState<unknown>();
  const name = session?.start?.recording;
  const query = useQuery({
    queryKey: KEY,
    queryFn: async () => (name === undefined ? null : read(name, await serverRecording())),
    staleTime: Infinity,
    gcTime: Infinity,
    retry: false,
    structuralSharing: false,
  });
  /** Resolves to true if the file is a recording. */
  const open = async ([file]: readonly File[]): Promise<boolean> => {
    if (file === undefined) return false;
    try {
      queries.setQueryData(KEY, await readFile(file));
      setFault(undefined);
      return true;
    } catch (error) {
      setFault(error);
      return false;
    }
  };
  return { opened: query.data ?? undefined, isLoading: query.isPending, error: fault ?? query.error, open };
}

/** A conversation as a recording. */
export interface TalkSource {
  /** Undefined without a message that was answered. */
  readonly opened: Opened | undefined;
  /** The file. */
  readonly text: string;
  readonly left: number;
}

/** Returns the recording of a conversation; undefined while it is made. */
export function useTalk(store: TalkStore): TalkSource | undefined {
  const view = useSyncExternalStore(store.subscribe, store.view);
  const { agent } = store.kept;
  const login = useLoginRevision(agent);
  useEffect(() => store.begin(login), [store, login]);
  const [source, setSource] = useState<TalkSource>();
  useEffect(() => {
    // Tasks and the way to speak are known once the agent has answered, or cannot be reached.
    if (view.connected === undefined && view.error === undefined) return;
    let isOver = false;
    void sourceOf(store).then((made) => {
      if (!isOver) setSource((before) => (before !== undefined && isAlike(before, made) ? before : made));
    });
    return () => {
      isOver = true;
    };
  }, [store, view]);
  return source;
}

async function sourceOf(store: TalkStore): Promise<TalkSource> {
  const { title, agent } = store.kept;
  const { turns, left, ...recorded } = await recordedTalk(store);
  const clean = cleanFor(agent);
  const text = headLine(recorded, clean) + turns.map((turn) => turnLine(turn, clean)).join("");
  return { opened: turns.length === 0 ? undefined : { name: title, recording: parseRecording(text) }, text, left };
}

/** True if two recordings have the same turns. Their first lines differ by the time at which they were made. */
function isAlike(one: TalkSource, other: TalkSource): boolean {
  const turnsIn = ({ text }: TalkSource): string => text.slice(text.indexOf("\n"));
  return one.left === other.left && turnsIn(one) === turnsIn(other);
}
