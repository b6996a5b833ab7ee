import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useSyncExternalStore } from "react";
import { connectedCard } from "../agents/client.js";
import { secretsAt } from "../agents/logins.js";
import { exchangeLog } from "../api/exchanges.js";
import { recordingWords } from "../texts/recording.js";
import { Modal } from "../ui/dialog.js";
import { Empty, Skeleton } from "../ui/parts.js";

const ExchangeView = lazy(async () => ({ default: (await import("../exchanges/exchange-view.js")).ExchangeView }));

/** The exchange of a turn. */
export function ExchangeDialog({ id }: { readonly id: number | undefined }): ReactNode {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const all = useSyncExternalStore(exchangeLog.subscribe, exchangeLog.get);
  if (id === undefined) return undefined;
  const exchange = all.find((each) => each.id === id);
  const onClose = (): void =>
    void navigate({ to: "/recording", search: (now) => ({ ...now, exchange: undefined }), resetScroll: false });
  return (
    <Modal title={recordingWords.exchange} isOpen wide onClose={onClose}>
      {exchange === undefined ? (
        <Empty title={recordingWords.exchangeGone}>
          <p>{recordingWords.exchangeGoneHint}</p>
        </Empty>
      ) : (
        <Suspense fallback={<Skeleton lines={6} />}>
          <ExchangeView
            exchange={exchange}
            card={connectedCard(queries, exchange.agent)}
            secrets={secretsAt(exchange.agent)}
            isRevealed={false}
          />
        </Suspense>
      )}
    </Modal>
  );
}
