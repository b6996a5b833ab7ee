import { useSuspenseQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Download, FileUp, History } from "lucide-react";
import { type ReactNode, useRef, useSyncExternalStore } from "react";
import { type Session, sessionQuery } from "../api/session.js";
import { download } from "../content/blob.js";
import type { TalkStore } from "../talk/talk-store.js";
import { talks } from "../talk/talks.js";
import { recordingWords } from "../texts/recording.js";
import { ErrorNote } from "../ui/error.js";
import { Button, Empty, Note, PageHead, Skeleton, css as ui } from "../ui/parts.js";
import { useDrop } from "../ui/use-drop.js";
import { ExchangeDialog } from "./exchange-dialog.js";
import css from "./recording.module.css";
import type { RecordingSearch } from "./recording-search.js";
import { RecordingView } from "./recording-view.js";
import { useFile, useTalk } from "./source.js";

/** Replays the recording of a file or a conversation. */
export default function Page(): ReactNode {
  const search: RecordingSearch = useSearch({ from: "/recording" });
  const { data } = useSuspenseQuery(sessionQuery);
  const session = "session" in data ? data.session : undefined;
  useSyncExternalStore(talks.subscribe, talks.list);
  const store = talks.get(search.conversation);
  const navigate = useNavigate();
  const file = useFile(session);
  const open = async (files: readonly File[]): Promise<void> => {
    if (!(await file.open(files))) return;
    await navigate({ to: "/recording", search: (now) => ({ ...now, conversation: undefined, exchange: undefined }) });
  };
  const target = useDrop<HTMLDivElement>((files) => void open(files));
  return (
    <div ref={target} className={ui.page}>
      {file.error !== null && <ErrorNote error={file.error} />}
      {store === undefined || session === undefined ? (
        <OfFile file={file} search={search} session={session} onOpen={open} />
      ) : (
        <OfTalk key={store.kept.id} store={store} search={search} session={session} onOpen={open} />
      )}
      <ExchangeDialog id={search.exchange} />
    </div>
  );
}

interface SourceProps {
  readonly search: RecordingSearch;
  readonly onOpen: (files: readonly File[]) => Promise<void>;
}

function OfFile({
  file: { opened, isLoading },
  search,
  session,
  onOpen,
}: SourceProps & { readonly file: ReturnType<typeof useFile>; readonly session: Session | undefined }): ReactNode {
  return (
    <>
      <Head onOpen={onOpen} />
      {search.conversation !== undefined && <Note tone="wait">{recordingWords.unknownTalk}</Note>}
      {isLoading && <Skeleton lines={6} />}
      {!isLoading && (opened === undefined || session === undefined) && (
        <div className={css.drop}>
          <Empty icon={<History size={36} aria-hidden="true" />} title={recordingWords.empty}>
            <p>{recordingWords.emptyHint}</p>
            <Link to="/agents" className={ui.button}>
              {recordingWords.agents}
            </Link>
          </Empty>
        </div>
      )}
      {opened !== undefined && session !== undefined && (
        // Another recording has no results yet.
        <RecordingView key={idOf(opened)} opened={opened} session={session} search={search} />
      )}
    </>
  );
}

function OfTalk({
  store,
  search,
  session,
  onOpen,
}: SourceProps & { readonly store: TalkStore; readonly session: Session }): ReactNode {
  const source = useTalk(store);
  const { id, agent } = store.kept;
  const opened = source?.opened;
  return (
    <>
      <Head onOpen={onOpen}>
        <Link className={ui.button} to="/talk" search={{ agent, conversation: id }}>
          {recordingWords.back}
        </Link>
        <Button disabled={opened === undefined} onClick={() => download(source?.text ?? "", "conversation.jsonl")}>
          <Download size={15} aria-hidden="true" />
          {recordingWords.save}
        </Button>
      </Head>
      {source !== undefined && source.left > 0 && <Note tone="wait">{recordingWords.left(source.left)}</Note>}
      {source === undefined && <Skeleton lines={6} />}
      {source !== undefined && opened === undefined && (
        <Empty icon={<History size={36} aria-hidden="true" />} title={recordingWords.nothing}>
          <p>{recordingWords.nothingHint}</p>
        </Empty>
      )}
      {opened !== undefined && (
        <RecordingView key={idOf(opened)} opened={opened} session={session} search={search} talkAgent={agent} />
      )}
    </>
  );
}

const ids = new WeakMap<object, number>();
let lastId = 0;

/** Returns a number that a recording keeps. */
function idOf(of: object): number {
  const id = ids.get(of) ?? ++lastId;
  ids.set(of, id);
  return id;
}

function Head({ onOpen, children }: Pick<SourceProps, "onOpen"> & { readonly children?: ReactNode }): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  return (
    <PageHead title={recordingWords.title} about={recordingWords.about}>
      {children}
      <Button onClick={() => input.current?.click()}>
        <FileUp size={15} aria-hidden="true" />
        {recordingWords.open}
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={recordingWords.open}
        accept=".jsonl,application/jsonl,application/x-ndjson"
        onChange={({ target }) => {
          const files = [...(target.files ?? [])];
          target.value = "";
          void onOpen(files);
        }}
      />
    </PageHead>
  );
}
