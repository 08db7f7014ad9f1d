/* Search runs in a Worker, which browsers refuse to pages opened from disk. There an iframe does
   its work. The name keeps the site generator from fetching another script for this. */
const message = (data) => new MessageEvent("message", { data: structuredClone(data) });
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      inner.document.open();
      inner.document.write("<!doctype html><body></body>");
      inner.document.close();
      inner.postMessage = (data) => this.tell(message(data));
      inner.importScripts = () => {};
      this.loaded = new Promise((resolve) => {
        const script = inner.document.createElement("script");
        script.src = new URL(address, location.href).href;
        script.onload = resolve;
        script.onerror = () => this.tell(new Event("error"));
        inner.document.body.append(script);
      });
    }
    tell(event) {
      const handler = this[`on${event.type}`];
      if (handler) handler.call(this, event);
      this.dispatchEvent(event);
    }
    postMessage(data) {
      const inner = this.frame.contentWindow;
      const event = message(data);
      this.loaded.then(() => inner.onmessage && inner.onmessage(event));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
