import { Dialog } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { words } from "../texts/words.js";
import { Button, classes, css } from "./parts.js";

interface ModalProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly wide?: boolean;
  readonly children: ReactNode;
}

/** A dialog over the page, with its title and a button that closes it. */
export function Modal({ title, isOpen, onClose, wide = false, children }: ModalProps): ReactNode {
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={css.backdrop} />
        <Dialog.Popup className={classes(css.dialog, wide && css.wide)}>
          <div className={css.head}>
            <Dialog.Title>{title}</Dialog.Title>
            <Dialog.Close render={<Button kind="plain" icon title={words.close} />}>
              <X size={16} aria-hidden="true" />
            </Dialog.Close>
          </div>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** Text of the button that goes on. */
  readonly action: string;
  readonly isBusy?: boolean;
  readonly onConfirm: () => void;
  readonly children: ReactNode;
}

/** Asks before something that cannot be taken back. */
export function Confirm({
  title,
  isOpen,
  onClose,
  action,
  isBusy = false,
  onConfirm,
  children,
}: ConfirmProps): ReactNode {
  return (
    <Modal title={title} isOpen={isOpen} onClose={onClose}>
      <div>{children}</div>
      <div className={css.row} style={{ justifyContent: "flex-end" }}>
        <Button onClick={onClose}>{words.keep}</Button>
        <Button kind="danger" disabled={isBusy} onClick={onConfirm}>
          {action}
        </Button>
      </div>
    </Modal>
  );
}
