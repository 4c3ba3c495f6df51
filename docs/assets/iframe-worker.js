// Search without a server: browsers start no Worker from a file, so its script runs in a hidden
// frame. The theme's search looks for this name; without the file it would fetch one from a CDN.
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    const inside = this.frame.contentWindow;
    window.addEventListener("message", (event) => {
      if (event.source !== inside) return;
      const copy = new MessageEvent("message", { data: event.data });
      this.dispatchEvent(copy);
      if (this.onmessage) this.onmessage(copy);
    });
    this.ready = new Promise((resolve) => {
      inside.document.open();
      inside.document.write("<!doctype html><body></body>");
      inside.document.close();
      inside.postMessage = (data) => inside.eval("(data) => parent.postMessage(data, '*')")(data);
      inside.importScripts = (...names) => names.reduce(
        (before, name) => before.then(() => load(inside.document, name)), Promise.resolve());
      load(inside.document, url).then(resolve);
    });
    this.inside = inside;
  }

  postMessage(data) {
    this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
  }

  terminate() {
    this.frame.remove();
  }
}

function load(page, address) {
  return new Promise((resolve, reject) => {
    const script = page.createElement("script");
    script.src = address;
    script.onload = resolve;
    script.onerror = reject;
    page.body.append(script);
  });
}

if (location.protocol === "file:") {
  window.IFrameWorker = IFrameWorker;
  window.Worker = IFrameWorker;
}
