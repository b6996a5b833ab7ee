import { type DragEvent, type ReactNode, useCallback, useState } from "react";
import type { MessageFields } from "../../../src/client/web.js";
import { newId } from "../../../src/core/ids.js";
import { talkWords } from "../texts/talk.js";
import { bytesText } from "../ui/format.js";
import { classes } from "../ui/parts.js";
import css from "./talk.module.css";

/** Largest file that is attached, in bytes. Agents accept less, which their answer says. */
const MAX_BYTES = 48 * 1024 * 1024;

/** Files of one message. */
const MAX_FILES = 20;

/** A file to be sent, whose bytes are read when it is, or the URL of one, which the agent reads. */
export interface Attachment {
  readonly id: string;
  readonly file: File | string;
}

export interface Attachments {
  readonly list: readonly Attachment[];
  /** Reason for which the last file was not attached. */
  readonly fault: string | undefined;
  readonly add: (files: Iterable<File>) => void;
  readonly addUrl: (url: string) => void;
  readonly remove: (id: string) => void;
  readonly clear: () => void;
}

/** The files that the next message takes along. */
export function useAttachments(): Attachments {
  const [list, setList] = useState<readonly Attachment[]>([]);
  const [fault, setFault] = useState<string>();
  const add = useCallback((files: Iterable<File>): void => {
    const all = [...files];
    const large = all.find(({ size }) => size > MAX_BYTES);
    setFault(large && talkWords.compose.tooLarge(large.name, bytesText(MAX_BYTES)));
    const more = all.filter(({ size }) => size <= MAX_BYTES).map((file) => ({ id: newId(), file }));
    setList((now) => [...now, ...more].slice(0, MAX_FILES));
  }, []);
  const addUrl = useCallback((url: string): void => {
    setList((now) => [...now, { id: newId(), file: url }].slice(0, MAX_FILES));
  }, []);
  const remove = useCallback((id: string): void => setList((now) => now.filter((each) => each.id !== id)), []);
  const clear = useCallback((): void => {
    setList([]);
    setFault(undefined);
  }, []);
  return { list, fault, add, addUrl, remove, clear };
}

type Parts = Exclude<MessageFields["parts"], string>;

/** Reads the files as parts of a message. */
export function partsOfFiles(list: readonly Attachment[]): Promise<Parts> {
  return Promise.all(
    list.map(async ({ file }) => {
      if (typeof file === "string") return { url: file, filename: nameIn(file) };
      const raw = new Uint8Array(await file.arrayBuffer());
      return { raw, filename: file.name, ...(file.type !== "" && { mediaType: file.type }) };
    }),
  );
}

/** Returns the file's name in a URL, or its host. */
function nameIn(url: string): string {
  const { pathname, host } = new URL(url);
  return pathname.split("/").at(-1) || host;
}

interface DropZoneProps {
  readonly onFiles: (files: Iterable<File>) => void;
  readonly children: ReactNode;
}

/** Takes files that are dropped on a conversation. The composer has a button for the same. */
export function DropZone({ onFiles, children }: DropZoneProps): ReactNode {
  const [isOver, setOver] = useState(false);
  const hasFiles = (event: DragEvent): boolean => event.dataTransfer.types.includes("Files");
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a further way beside the button.
    <div
      className={classes(css.drop, isOver && css.over)}
      onDragOver={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(false);
        onFiles(event.dataTransfer.files);
      }}
    >
      {children}
      {isOver && <div className={css.dropHint}>{talkWords.compose.drop}</div>}
    </div>
  );
}
