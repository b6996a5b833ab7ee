import { type ReactNode, useMemo, useState } from "react";
import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Exchange } from "../api/exchanges.js";
import { Code } from "../content/code.js";
import { exchangeWords } from "../texts/exchanges.js";
import { CopyButton } from "../ui/copy-button.js";
import { bytesText, clockTime, durationText } from "../ui/format.js";
import { Button, Facts, Note, css as ui } from "../ui/parts.js";
import { curlOf, grpcurlOf } from "./command.js";
import css from "./exchanges.module.css";
import { headerPieces, shownPieces, urlPieces, withoutSecretTexts } from "./hide.js";
import { type Piece, piecesOf } from "./pieces.js";
import { rpcOf } from "./rpc.js";

interface ViewProps {
  readonly exchange: Exchange;
  /** The agent's card, if it is known: it says where gRPC is served. */
  readonly card: AgentCard | undefined;
  readonly secrets: readonly string[];
  readonly isRevealed: boolean;
}

/** One request and its answer: what they were, their headers and their bodies. */
export function ExchangeView({ exchange, card, secrets, isRevealed }: ViewProps): ReactNode {
  const { method, url, status, startedAt, headMs, endMs, error, request, response } = exchange;
  const isOver = endMs !== undefined;
  const grpcurl = grpcurlOf(exchange, card, secrets);
  return (
    <div className={ui.stack}>
      <div className={ui.row}>
        <CopyButton text={() => curlOf(exchange, secrets)}>{exchangeWords.curl}</CopyButton>
        {grpcurl !== undefined && <CopyButton text={() => grpcurl}>{exchangeWords.grpcurl}</CopyButton>}
      </div>
      {error !== undefined && <Note tone={status === undefined ? "bad" : "wait"}>{error}</Note>}
      <Facts
        rows={[
          [exchangeWords.url, <code key="url">{`${method} ${shownPieces(urlPieces(url, secrets), isRevealed)}`}</code>],
          status !== undefined && [exchangeWords.status, status],
          [exchangeWords.began, clockTime(new Date(startedAt))],
          headMs !== undefined && [exchangeWords.firstByte, durationText(headMs)],
          isOver && [exchangeWords.took, durationText(endMs)],
          [exchangeWords.size, exchangeWords.sizes(bytesText(request.size), bytesText(response.size))],
        ]}
      />
      <Side exchange={exchange} side="request" secrets={secrets} isRevealed={isRevealed} />
      {status !== undefined && <Side exchange={exchange} side="response" secrets={secrets} isRevealed={isRevealed} />}
    </div>
  );
}

interface SideProps extends Omit<ViewProps, "card"> {
  readonly side: "request" | "response";
}

function Side({ exchange, side, secrets, isRevealed }: SideProps): ReactNode {
  const { [side]: body } = exchange;
  const headers = side === "request" ? exchange.requestHeaders : exchange.responseHeaders;
  const pieces = useMemo(() => piecesOf(exchange, side, rpcOf(exchange)), [exchange, side]);
  const isCut = body.size > body.bytes.length;
  return (
    <section className={css.side}>
      <h3>{side === "request" ? exchangeWords.request : exchangeWords.answer}</h3>
      <details>
        <summary>{exchangeWords.headers(headers.length)}</summary>
        <dl className={css.headers}>
          {headers.map(([name, value], at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a header may occur twice.
            <div key={at}>
              <dt>{name}</dt>
              <dd>{shownPieces(headerPieces(name, value, secrets), isRevealed)}</dd>
            </div>
          ))}
        </dl>
      </details>
      {isCut && <Note tone="wait">{exchangeWords.cut(bytesText(body.bytes.length), bytesText(body.size))}</Note>}
      {pieces.length === 0 ? (
        <p className={`${ui.soft} ${ui.small}`}>{exchangeWords.noBody}</p>
      ) : (
        <Pieces pieces={pieces} shown={(text) => (isRevealed ? text : withoutSecretTexts(text, secrets))} />
      )}
    </section>
  );
}

/** Parts that are listed at first, and with each click as many more. */
const LISTED = 50;

interface PiecesProps {
  readonly pieces: readonly Piece[];
  readonly shown: (text: string) => string;
}

function Pieces({ pieces, shown }: PiecesProps): ReactNode {
  const [limit, setLimit] = useState(LISTED);
  const [only] = pieces;
  if (pieces.length === 1 && only?.kind === "body")
    return <Code code={shown(only.text)} language={only.language} bare />;
  return (
    <>
      <ol className={css.pieces}>
        {pieces.slice(0, limit).map((piece, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts are only ever added at the end.
          <li key={at}>
            <PieceView piece={piece} number={at + 1} shown={shown} />
          </li>
        ))}
      </ol>
      {pieces.length > limit && (
        <Button onClick={() => setLimit(limit + LISTED * 4)}>{exchangeWords.more(pieces.length - limit)}</Button>
      )}
    </>
  );
}

interface PieceProps extends Pick<PiecesProps, "shown"> {
  readonly piece: Piece;
  readonly number: number;
}

function PieceView({ piece: { kind, about, id, text, language, size }, number, shown }: PieceProps): ReactNode {
  const [isOpen, setOpen] = useState(number <= 2);
  const name = kind === "end" ? exchangeWords.end : exchangeWords[kind === "event" ? "event" : "message"](number);
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span>{name}</span> <strong>{about}</strong>{" "}
        <span className={ui.soft}>
          {id !== undefined && `${exchangeWords.id(id)} · `}
          {bytesText(size)}
        </span>
      </summary>
      {isOpen && <Code code={shown(text)} language={language} bare />}
    </details>
  );
}
