import { useMutation, useQueryClient } from "@tanstack/react-query";
import { RefreshCw } from "lucide-react";
import { type ReactNode, useState } from "react";
import { changeReceiver, type Receiver } from "../api/receiver.js";
import { receiverWords as texts } from "../texts/receiver.js";
import { CopyButton } from "../ui/copy-button.js";
import { Confirm } from "../ui/dialog.js";
import { ErrorNote } from "../ui/error.js";
import { Button, CopyText, Facts, css as ui } from "../ui/parts.js";
import { ReachNote } from "./reach-note.js";
import css from "./receiver.module.css";
import { unregister, useRegistrations } from "./registrations.js";

/** The address to register, its token and its limits. */
export function AddressCard({
  receiver,
  agent,
}: {
  readonly receiver: Receiver;
  readonly agent: string | undefined;
}): ReactNode {
  const { address, token, limits, limited } = receiver;
  return (
    <section className={css.card} aria-labelledby="receiver-address">
      <div className={css.cardHead}>
        <h2 id="receiver-address">{texts.addressTitle}</h2>
        <Renew address={address} />
      </div>
      <p className={`${ui.soft} ${ui.small}`}>{texts.addressHint}</p>
      <Facts
        rows={[
          [texts.address, <CopyText key="address" text={address} />],
          [
            texts.token,
            <CopyButton key="token" text={() => token}>
              {texts.copyToken}
            </CopyButton>,
          ],
        ]}
      />
      <ReachNote address={address} agent={agent} />
      <p className={`${ui.soft} ${ui.small}`}>
        {texts.limits(limits.notifications, limits.bytes, limits.bodyBytes, limits.perMinute)}{" "}
        {limited > 0 && texts.limited(limited)}
      </p>
    </section>
  );
}

function Renew({ address }: { readonly address: string }): ReactNode {
  const [isAsked, setAsked] = useState(false);
  const queries = useQueryClient();
  const known = useRegistrations(address);
  const renew = useMutation({
    mutationFn: async () => {
      // An agent that cannot be reached keeps the address, which answers no more.
      await Promise.allSettled(known.map((each) => unregister(queries, each)));
      await changeReceiver(queries, "");
    },
    onSettled: () => setAsked(false),
  });
  return (
    <>
      <Button kind="plain" icon title={texts.renew} onClick={() => setAsked(true)}>
        <RefreshCw size={15} aria-hidden="true" />
      </Button>
      <Confirm
        title={texts.renew}
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        action={texts.renew}
        isBusy={renew.isPending}
        onConfirm={() => renew.mutate()}
      >
        <p>{texts.renewHint}</p>
      </Confirm>
      {renew.isError && <ErrorNote error={renew.error} />}
    </>
  );
}
