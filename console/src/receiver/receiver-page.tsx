import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Trash2, Webhook } from "lucide-react";
import type { ReactNode } from "react";
import { absolute } from "../api/agents.js";
import { changeReceiver, RECEIVER_EVERY, type Receiver, receiverQuery } from "../api/receiver.js";
import { sessionQuery } from "../api/session.js";
import { receiverWords as texts } from "../texts/receiver.js";
import { ErrorNote } from "../ui/error.js";
import { Button, Empty, PageHead, Skeleton, css as ui } from "../ui/parts.js";
import { Rows } from "../ui/rows.js";
import { AddressCard } from "./address-card.js";
import { notificationColumns } from "./columns.js";
import { KeysCard } from "./keys-card.js";
import { NotificationDialog } from "./notification-dialog.js";
import css from "./receiver.module.css";
import { RegisterCard } from "./register-card.js";
import { useRegistrations } from "./registrations.js";

/** A webhook of this session, and the notifications that have come to it. */
export default function ReceiverPage(): ReactNode {
  const { data, error, refetch } = useQuery({ ...receiverQuery, refetchInterval: RECEIVER_EVERY });
  return (
    <div className={ui.page}>
      <PageHead title={texts.title} about={texts.about} />
      {error !== null && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data !== undefined && <Opened receiver={data} />}
      {data === undefined && error === null && <Skeleton lines={6} />}
    </div>
  );
}

function Opened({ receiver }: { readonly receiver: Receiver }): ReactNode {
  const { address, proofs, token } = receiver;
  const search = useSearch({ from: "/receiver" });
  const navigate = useNavigate({ from: "/receiver" });
  const { data: state } = useSuspenseQuery(sessionQuery);
  const registrations = useRegistrations(address);
  const agent =
    search.agent !== undefined && URL.canParse(search.agent, location.origin) ? absolute(search.agent) : undefined;
  const places = { registrations, hasAdmin: "session" in state && state.session.admin };
  const open = (number: number | undefined, replace: boolean): void =>
    void navigate({ search: (now) => ({ ...now, open: number }), replace });
  return (
    <>
      <div className={css.cards}>
        <AddressCard receiver={receiver} agent={agent} />
        <RegisterCard
          address={address}
          agent={agent}
          onAgent={(chosen) => void navigate({ search: (now) => ({ ...now, agent: chosen }), replace: true })}
        />
        <KeysCard proofs={proofs} />
      </div>
      <ListHead receiver={receiver} />
      {receiver.notifications.length === 0 ? (
        <Empty icon={<Webhook size={30} aria-hidden="true" />} title={texts.none}>
          <p>{texts.noneHint}</p>
        </Empty>
      ) : (
        <Rows
          label={texts.list}
          rows={receiver.notifications}
          columns={notificationColumns(places)}
          keyOf={({ number }) => String(number)}
          current={search.open === undefined ? undefined : String(search.open)}
          onOpen={({ number }) => open(number, false)}
          height="max(240px, calc(100dvh - 480px))"
        />
      )}
      <NotificationDialog number={search.open} token={token} places={places} onClose={() => open(undefined, true)} />
    </>
  );
}

function ListHead({ receiver }: { readonly receiver: Receiver }): ReactNode {
  const queries = useQueryClient();
  const clear = useMutation({ mutationFn: () => changeReceiver(queries, "/notifications") });
  const { notifications } = receiver;
  return (
    <div className={css.cardHead}>
      <h2>{texts.list}</h2>
      {notifications.length > 0 && (
        <Button kind="plain" disabled={clear.isPending} onClick={() => clear.mutate()}>
          <Trash2 size={14} aria-hidden="true" />
          {texts.clear}
        </Button>
      )}
    </div>
  );
}
