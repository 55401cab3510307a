// SPDX-License-Identifier: MIT OR Apache-2.0

// A QUIC server and client that use quic-go. The server sends as many bytes as the client requests.
//
//	transfer server ADDRESS:PORT [-no-ecn] [-no-gso] [-qlog DIR]
//	transfer client ADDRESS:PORT [-bytes N] [-seconds S] [-no-ecn] [-no-gso] [-qlog DIR]
//
// The client opens a stream and writes the number of bytes that it wants, as 8 bytes in
// big-endian order. 0 requests data without end. The client prints what it received as a
// line of JSON, and also writes that line to $OUT/result.json.
//
// quic-go always uses NewReno, because its interface has no option for the congestion control. It
// always paces.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

const (
	protocol = "tailback"
	// The receiver must not limit the rate: 64 MiB is the BDP of 3.4 Gbit/s at 160 ms.
	window = 64 << 20
	chunk  = 1 << 18
)

type options struct {
	bytes   uint64
	seconds float64
}

func main() {
	if len(os.Args) < 3 || (os.Args[1] != "server" && os.Args[1] != "client") {
		fail(errors.New("usage: transfer server|client ADDRESS:PORT [options]"))
	}
	role, address := os.Args[1], os.Args[2]
	var o options
	flags := flag.NewFlagSet(role, flag.ExitOnError)
	noECN := flags.Bool("no-ecn", false, "packets are sent without ECN")
	noGSO := flags.Bool("no-gso", false, "packets are sent one by one")
	qlogs := flags.String("qlog", "", "folder of qlog files")
	if role == "client" {
		flags.Uint64Var(&o.bytes, "bytes", 0, "bytes to ask for; 0: without end")
		flags.Float64Var(&o.seconds, "seconds", 0, "ends after this time; 0: with the last byte")
	}
	_ = flags.Parse(os.Args[3:])
	// quic-go reads these options only from the environment.
	if *noECN {
		os.Setenv("QUIC_GO_DISABLE_ECN", "true")
	}
	if *noGSO {
		os.Setenv("QUIC_GO_DISABLE_GSO", "true")
	}
	config := &quic.Config{
		InitialStreamReceiveWindow:     window,
		MaxStreamReceiveWindow:         window,
		InitialConnectionReceiveWindow: window,
		MaxConnectionReceiveWindow:     window,
		MaxIdleTimeout:                 10 * time.Minute,
	}
	if *qlogs != "" {
		os.Setenv("QLOGDIR", *qlogs)
		config.Tracer = qlog.DefaultConnectionTracer
	}
	// The signal at the end of a run ends the program without an error.
	until, done := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer done()
	var err error
	if role == "server" {
		err = serve(until, address, config)
	} else {
		err = fetch(until, address, config, o)
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func serve(until context.Context, address string, config *quic.Config) error {
	certificate, err := certificate()
	if err != nil {
		return err
	}
	listener, err := quic.ListenAddr(address, &tls.Config{
		Certificates: []tls.Certificate{certificate},
		NextProtos:   []string{protocol},
	}, config)
	if err != nil {
		return err
	}
	fmt.Println("listening")
	for {
		connection, err := listener.Accept(until)
		if until.Err() != nil {
			return listener.Close()
		}
		if err != nil {
			return err
		}
		go func() {
			// A client that disconnects is not an error.
			_ = answer(until, connection)
		}()
	}
}

func answer(until context.Context, connection *quic.Conn) error {
	stream, err := connection.AcceptStream(until)
	if err != nil {
		return err
	}
	var asked [8]byte
	if _, err := io.ReadFull(stream, asked[:]); err != nil {
		return err
	}
	rest, endless := binary.BigEndian.Uint64(asked[:]), false
	if rest == 0 {
		endless = true
	}
	zeros := make([]byte, chunk)
	for endless || rest > 0 {
		n := uint64(chunk)
		if !endless && rest < n {
			n = rest
		}
		if _, err := stream.Write(zeros[:n]); err != nil {
			return err
		}
		rest -= n
	}
	return stream.Close()
}

func fetch(until context.Context, address string, config *quic.Config, o options) error {
	began := time.Now()
	connection, err := quic.DialAddr(until, address, &tls.Config{
		// The server has just generated its certificate, so the client cannot verify it
		// against anything.
		InsecureSkipVerify: true,
		NextProtos:         []string{protocol},
	}, config)
	if err != nil {
		return err
	}
	stream, err := connection.OpenStreamSync(until)
	if err != nil {
		return err
	}
	if o.seconds > 0 {
		end := began.Add(time.Duration(o.seconds * float64(time.Second)))
		if err := stream.SetReadDeadline(end); err != nil {
			return err
		}
	}
	stopped := context.AfterFunc(until, func() { _ = stream.SetReadDeadline(time.Now()) })
	defer stopped()
	var asked [8]byte
	binary.BigEndian.PutUint64(asked[:], o.bytes)
	if _, err := stream.Write(asked[:]); err != nil {
		return err
	}
	buffer := make([]byte, chunk)
	var got uint64
	for {
		n, err := stream.Read(buffer)
		got += uint64(n)
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return err
		}
	}
	took := time.Since(began).Seconds()
	if err := tell(got, took); err != nil {
		return err
	}
	if err := connection.CloseWithError(0, ""); err != nil {
		return err
	}
	if o.bytes > 0 && o.seconds == 0 && until.Err() == nil && got != o.bytes {
		return fmt.Errorf("got %d of %d bytes", got, o.bytes)
	}
	return nil
}

func tell(got uint64, took float64) error {
	line, err := json.Marshal(map[string]any{
		"bytes":        got,
		"seconds":      took,
		"goodput_mbit": float64(got) * 8 / took / 1e6,
	})
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	if folder := os.Getenv("OUT"); folder != "" {
		return os.WriteFile(filepath.Join(folder, "result.json"), append(line, '\n'), 0o644)
	}
	return nil
}

func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		DNSNames:     []string{"sender"},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
