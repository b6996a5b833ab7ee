import { useMutation } from "@tanstack/react-query";
import { ExternalLink, ImageDown } from "lucide-react";
import type { ReactNode } from "react";
import { relayFetchOf } from "../api/relay.js";
import { contentWords } from "../texts/content.js";
import { sentenceOf } from "../ui/error.js";
import { bytesText } from "../ui/format.js";
import { Button, css as ui } from "../ui/parts.js";
import css from "./content.module.css";
import { useContentPlace } from "./content-context.js";
import { FileView } from "./file-view.js";
import { webAddress } from "./media.js";

/** Largest file that is fetched into the page, in bytes. */
const MAX_BYTES = 64 * 1024 * 1024;

interface Fetched {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
}

/** Fetches a file through the console's server, without credentials. */
async function fetched(url: URL, agent: string): Promise<Fetched> {
  const answer = await relayFetchOf(agent)(url.href);
  if (!answer.ok) throw new Error(contentWords.refused(answer.status));
  const reader = answer.body?.getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (;;) {
    const next = await reader?.read();
    if (next === undefined || next.done) break;
    size += next.value.length;
    if (size > MAX_BYTES) {
      void reader?.cancel();
      throw new Error(contentWords.tooLarge(bytesText(MAX_BYTES)));
    }
    pieces.push(next.value as Uint8Array<ArrayBuffer>);
  }
  const bytes = new Uint8Array(await new Blob(pieces).arrayBuffer());
  return { bytes, mediaType: answer.headers.get("content-type") ?? "" };
}

interface LinkedProps {
  readonly url: string;
  readonly filename: string;
  readonly mediaType: string;
}

/** A file by its address: a link, and shown after a click. Nothing is loaded by itself. */
export function LinkedFile({ url, filename, mediaType }: LinkedProps): ReactNode {
  const { agent = "" } = useContentPlace();
  const address = webAddress(url);
  const load = useMutation({ mutationFn: (from: URL) => fetched(from, agent) });
  if (address === undefined) {
    return (
      <p className={css.hint}>
        {contentWords.badLink} <code className={css.badLink}>{url.slice(0, 300)}</code>
      </p>
    );
  }
  const name = filename === "" ? (address.pathname.split("/").at(-1) ?? "") : filename;
  return (
    <div className={css.linked}>
      <div className={ui.row}>
        <a href={address.href} target="_blank" rel="noreferrer noopener" title={address.href}>
          {name === "" ? contentWords.linkElsewhere(address.host) : name}
          <ExternalLink size={12} aria-hidden="true" className={css.outside} />
        </a>
        <span className={`${ui.soft} ${ui.small}`}>{address.host}</span>
        {load.data === undefined && (
          <Button disabled={load.isPending} onClick={() => load.mutate(address)}>
            {contentWords.showHere}
          </Button>
        )}
      </div>
      {load.isError && <p className={css.hint}>{sentenceOf(load.error)}</p>}
      {load.data !== undefined && (
        <FileView bytes={load.data.bytes} filename={name} mediaType={mediaType || load.data.mediaType} />
      )}
    </div>
  );
}

/** An image in a text, which is loaded after a click. */
export function RemoteImage({ url, alt }: { readonly url: string; readonly alt: string }): ReactNode {
  const { agent = "" } = useContentPlace();
  const address = webAddress(url);
  const load = useMutation({ mutationFn: (from: URL) => fetched(from, agent) });
  if (address === undefined) return <span title={url.slice(0, 300)}>{alt || contentWords.image("")}</span>;
  if (load.data !== undefined) {
    return <FileView bytes={load.data.bytes} filename={alt} mediaType={load.data.mediaType} />;
  }
  return (
    <span className={css.remote}>
      <a href={address.href} target="_blank" rel="noreferrer noopener" title={address.href}>
        {alt || contentWords.imageElsewhere(address.host)}
      </a>
      <Button disabled={load.isPending} onClick={() => load.mutate(address)}>
        <ImageDown size={14} aria-hidden="true" />
        {contentWords.loadImage}
      </Button>
      {load.isError && <span className={css.hint}>{sentenceOf(load.error)}</span>}
    </span>
  );
}
